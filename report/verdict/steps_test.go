package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// risingAt is a program of 20 s whose host memory rises by so many bytes at each of some seconds.
func risingAt(size float64, at ...float64) *program {
	p := newProgram(400)
	p.meta.Versions = map[string]string{"python": "3.12"}
	level := func(i int) float64 {
		y := 80. * mib
		for _, second := range at {
			if float64(i)/20 >= second {
				y += size
			}
		}
		return y
	}
	return p.set(record.ColRSS, level).set(record.ColFootprint, level).set(record.ColRSSAnon, level)
}

func TestARiseThatCameASecondTimeMayComeAgain(t *testing.T) {
	t.Parallel()
	v := risingAt(16*mib, 3, 14).judge()
	if v.Verdict != Undecided || !strings.Contains(v.Answer, "rose by 16.0 MiB after 3 s and by 16.0 MiB after 14 s") {
		t.Errorf("a second rise 6 s before the end: %s", v.Answer)
	}
	if rowOf(v, Host).Shape != trend.ShapeUndecided {
		t.Errorf("host is %s", rowOf(v, Host).Shape)
	}
	for name, p := range map[string]*program{
		"one rise":                           risingAt(16*mib, 3),
		"a third would have come":            risingAt(16*mib, 3, 8),
		"as good as one":                     risingAt(16*mib, 12, 14),
		"little beside what the program has": risingAt(4*mib, 3, 14),
	} {
		if v := p.judge(); v.Verdict != None {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
	back := risingAt(16*mib, 3, 14)
	rise := back.cols[record.ColFootprint]
	for i := 15 * 20; i < len(rise); i++ {
		rise[i] -= 16 * mib // what came the second time was given back
	}
	if v := back.judge(); v.Verdict == HostGrowth || strings.Contains(v.Answer, "may do so again") {
		t.Errorf("given back: %s", v.Answer)
	}
}

// It is the account that rose which is open.
func TestARiseOfTheDevicesMemoryMayComeAgain(t *testing.T) {
	t.Parallel()
	p := newProgram(400).healthy()
	p.meta.Versions = map[string]string{"python": "3.12"}
	steps := risingAt(16*mib, 3, 14).cols[record.ColFootprint]
	p.set(record.ColLive, func(i int) float64 { return steps[i] }).
		set(record.ColGPU, func(i int) float64 { return 700*mib + steps[i] })
	v := p.judge()
	if v.Verdict != Undecided || !strings.Contains(v.Answer, "and may do so again") {
		t.Fatalf("%s", v.Answer)
	}
	if live, host := rowOf(v, Live).Shape, rowOf(v, Host).Shape; live != trend.ShapeUndecided || host == live {
		t.Errorf("live is %s, host is %s", live, host)
	}
}

// A list that gets longer at each look, until it is emptied after the last of them.
func TestWhatWasGivenBackSinceTheLastLookDecidesNothing(t *testing.T) {
	t.Parallel()
	const each = 128 * kib
	judged := func(emptied int) *Verdict {
		p := newProgram(560)
		p.meta.Versions = map[string]string{"python": "3.12"}
		level := func(i int) float64 { return 80*mib + each*float64(i%emptied) }
		p.set(record.ColRSS, level).set(record.ColFootprint, level)
		return p.lookedAt("list main() local sales", each, 0).judge()
	}
	if v := judged(560); v.Verdict != HostGrowth {
		t.Errorf("never emptied: %s", v.Answer)
	}
	v := judged(380)
	if v.Verdict != Undecided || !strings.Contains(v.Answer, "4 looks, but what it gained was given back after the last") {
		t.Errorf("emptied after 19 s: %s", v.Answer)
	}
}

// A window of what is younger than 28 s: the last look finds it longer than the look before, and full.
func TestWhatStandsStillAtTheLastLookAlreadyDecidesNothing(t *testing.T) {
	t.Parallel()
	const each = 128 * kib
	judged := func(full int) *Verdict {
		p := newProgram(800)
		p.meta.Versions = map[string]string{"python": "3.12"}
		level := func(i int) float64 { return 80*mib + each*float64(min(i, full)) }
		p.set(record.ColRSS, level).set(record.ColFootprint, level)
		return p.lookedAt("dict main() local board.sightings", each, 0).judge()
	}
	if v := judged(800); v.Verdict != HostGrowth {
		t.Errorf("it goes on: %s", v.Answer)
	}
	v := judged(560)
	if v.Verdict != Undecided || !strings.Contains(v.Answer, "5 looks, but nothing more came in the last 10 s") {
		t.Errorf("full after 28 s: %s", v.Answer)
	}
}

// The heap has in use what it had, and keeps more free between its blocks, however straight.
func TestAHeapThatSettlesLateIsOpenHoweverSure(t *testing.T) {
	t.Parallel()
	judged := func(free float64) *Verdict {
		p := newProgram(1200).healthy().flat(record.ColHostHeap, 100*mib, 0)
		late := func(most float64) func(i int) float64 {
			return func(i int) float64 { return most * max(0, float64(i-600)/600) }
		}
		rises, keeps := late(4*mib), late(free)
		for _, column := range []string{record.ColRSS, record.ColFootprint} {
			p.set(column, func(i int) float64 { return 150*mib + rises(i) })
		}
		return p.set(record.ColHostHeapFree, func(i int) float64 { return 4*mib + keeps(i) }).judge()
	}
	if v := judged(3.6 * mib); v.Verdict != Undecided || !strings.Contains(v.Answer, "lies free in the C heap") {
		t.Errorf("nearly all is free: %s", v.Answer)
	}
	if v := judged(2.2 * mib); v.Verdict != HostGrowth {
		t.Errorf("half is free: %s", v.Answer)
	}
}

// besideRing are looks at a deque with a bound, which gets two elements a row until it is full, and at a list that
// gets one.
func besideRing(rows int, bound, each int64) *program {
	p := newProgram(rows).healthy()
	level := func(i int) float64 {
		return 100*mib + float64(min(int64(2*i), bound)*each) + float64(each*int64(i))
	}
	p.set(record.ColLive, level).set(record.ColGPU, func(i int) float64 { return 700*mib + level(i) })
	for at, over := 3., 2.; at*20 < float64(rows); at, over = at+over, 2*over {
		n, came := int64(at*20), int64(over*20)
		found := []record.Holder{
			{Path: "deque main() local frames", Length: min(2*n, bound), Count: 2 * came, Bound: bound},
			{Path: "list main() local plumes", Length: n, Count: came, Kind: cause.Results},
		}
		for i := range found {
			found[i].OverMs, found[i].Bytes = over*1000, found[i].Count*each
		}
		p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindHolders, Holders: found})
	}
	return p
}

func TestAListBesideARingThatFillsUpIsAGrowthAllTheSame(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*program{
		"that fills":   besideRing(400, 1600, 64*kib),
		"that is full": besideRing(800, 400, 64*kib),
	} {
		v := p.judge()
		if v.Verdict != AppLeak || !strings.Contains(v.Answer, "list main() local plumes") {
			t.Errorf("beside a ring %s: %s", name, v.Answer)
		}
		if !named(v, cause.Results) {
			t.Errorf("beside a ring %s: %+v", name, v.Causes)
		}
		is := strings.Contains(v.Answer, "together with deque main() local frames, which has a bound")
		if is != (name == "that fills") {
			t.Errorf("what a ring %s gets is told: %t: %s", name, is, v.Answer)
		}
	}
	// Without the list the ring is a warm-up, and what goes on beside it once it is full is not.
	alone := func(p *program) *Verdict {
		for i := range p.events {
			p.events[i].Holders = p.events[i].Holders[:1]
		}
		return p.judge()
	}
	if v := alone(besideRing(800, 400, 64*kib)); v.Verdict == None {
		t.Errorf("nobody is known to hold what comes beside a full ring: %s", v.Answer)
	}
}

// Its elements stay, as they are to, and the generations of the allocator's blocks say no more than that.
func TestAgesOfBlocksAreNoLeakWhereARingThatIsFullHasThem(t *testing.T) {
	t.Parallel()
	blocks := each(250, func(i int) block { return block{from: float64(i) / 10, to: forGood, bytes: 512 * kib} })
	p := newProgram(860).healthy().aged(mib, blocks)
	if v := p.judge(); v.Verdict != AppLeak {
		t.Errorf("without a look at the ring: %s", v.Answer)
	}
	for at, over := 3., 2.; at < 40; at, over = at+over, 2*over {
		h := record.Holder{Path: "deque main() local frames", Length: min(int64(10*at), 250), Bound: 250,
			Count: int64(10 * over), OverMs: over * 1000, Bytes: int64(10*over) * 512 * kib}
		p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindHolders, Holders: []record.Holder{h}})
	}
	if v := p.judge(); v.Verdict != None {
		t.Errorf("with it: %s", v.Answer)
	}
}

func TestWhoHasMostOfWhatGrowsInNumberIsItsCause(t *testing.T) {
	t.Parallel()
	const row = 2 // that come
	p := newProgram(400).healthy().grows(record.ColLiveCount, 40, 1, row)
	for at, over := 3., 2.; at < 20; at, over = at+over, 2*over {
		h := record.Holder{Path: "dict main() local line.trays", Length: int64(at * 20 * row), Count: int64(over * 20 * row),
			Bytes: 4 * kib, OverMs: over * 1000, Kind: cause.Entries}
		p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindHolders, Holders: []record.Holder{h}})
	}
	v := p.judge()
	if v.Verdict != AppLeak || !strings.Contains(v.Answer, "most of the") || !strings.Contains(v.Answer, "line.trays") {
		t.Fatalf("%s", v.Answer)
	}
	if len(v.Causes) == 0 || v.Causes[0].ID != cause.Entries || !strings.Contains(v.Next, "line.trays") {
		t.Errorf("%+v, next %q", v.Causes, v.Next)
	}
	for i := range p.events {
		p.events[i].Holders[0].Count /= 8 // the others come elsewhere
	}
	if v := p.judge(); named(v, cause.Entries) {
		t.Errorf("an eighth of them: %+v", v.Causes)
	}
}
