package verdict

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// lookedAt adds looks at seconds 3, 5, 9, 17 … up to the end at a container that holds
// an element of perElement bytes for each row, of at most bound.
func (p *program) lookedAt(path string, perElement, bound int64) *program {
	for at, over := 3., 2.; at*20 < float64(p.rows); at, over = at+over, 2*over {
		h := record.Holder{Path: path, Length: int64(at * 20), Count: int64(over * 20), Bound: bound, OverMs: over * 1000}
		h.Bytes = perElement * h.Count
		p.events = append(p.events, record.Event{TMs: at * 1000, Kind: record.KindHolders, Holders: []record.Holder{h}})
	}
	return p
}

// wandering is a program whose live bytes rise by so many in each row, below a load
// that hides it from the test of trends.
func wandering(rows int, perRow float64) *program {
	level := 0.
	p := newProgram(rows).healthy()
	live := make([]float64, rows)
	for i := range live {
		level += 1.7 * mib * p.r.NormFloat64()
		live[i] = 200*mib + level + perRow*float64(i)
	}
	p.set(record.ColLive, func(i int) float64 { return live[i] })
	return p.set(record.ColGPU, func(i int) float64 { return 700*mib + live[i] })
}

func TestAListThatIsLongerAtEachLookDecidesWhereTheTrendIsOpen(t *testing.T) {
	t.Parallel()
	const each = 256 * kib
	if v := wandering(300, each).judge(); v.Verdict != Undecided {
		t.Fatalf("the trend is not open: %s", v.Summary)
	}
	v := wandering(300, each).lookedAt("list train.history", each, 0).judge()
	if v.Verdict != AppLeak || v.RestsOn != ByObjects ||
		!strings.Contains(v.Summary, "list train.history was longer at each of 3 looks") {
		t.Errorf("%s by %s", v.Summary, v.RestsOn)
	}
	if r := rowOf(v, Live); r.Shape != trend.Growing {
		t.Errorf("live is %s", r.Shape)
	}
	// A list that explains a tenth of what came is not the growth.
	if v := wandering(300, each).lookedAt("list train.history", each/10, 0).judge(); v.Verdict != Undecided {
		t.Errorf("a small list: %s", v.Summary)
	}
}

// The best epochs, of many arrays each, come as evenly, and are soon all there.
func TestAContainerOfAFewElementsMayHaveThemAllAtTheNextLook(t *testing.T) {
	t.Parallel()
	const each = 256 * kib
	judged := func(rowsForOne int64) *Verdict {
		p := wandering(300, each).lookedAt("dict train.best", each, 0)
		for i := range p.events {
			for n := range p.events[i].Holders {
				p.events[i].Holders[n].Length /= rowsForOne
			}
		}
		return p.judge()
	}
	if v := judged(20); v.Verdict != AppLeak || v.RestsOn != ByObjects {
		t.Errorf("nine elements: %s", v.Summary)
	}
	if v := judged(40); v.Verdict != Undecided {
		t.Errorf("four elements: %s", v.Summary)
	}
}

func TestAContainerWithABoundWarmsUpHoweverStraightItRises(t *testing.T) {
	t.Parallel()
	const each = 256 * kib
	leak := func() *program {
		p := newProgram(400).healthy().grows(record.ColLive, 60*mib, 0, each)
		return p.set(record.ColGPU, func(i int) float64 { return 700*mib + each*float64(i) })
	}
	if v := leak().lookedAt("list train.history", each, 0).judge(); v.Verdict != AppLeak || v.Tier != Confirmed {
		t.Errorf("without a bound: %s", v.Summary)
	}
	v := leak().lookedAt("deque train.history", each, 1000).judge()
	want := "deque train.history fills up: it had 340 of at most 1000 elements, and is full about 33 s later"
	if v.Verdict != None || !strings.Contains(v.Summary, want) {
		t.Errorf("with one: %s", v.Summary)
	}
	// One that the last look, shortly before the end, found at its bound.
	cut := func(p *program, rows int) *program {
		p.rows = rows
		for column, values := range p.cols {
			p.cols[column] = values[:rows]
		}
		return p
	}
	v = cut(leak().lookedAt("deque train.history", each, 340), 350).judge()
	want = "deque train.history has filled up: it has 340 of at most 340 elements, 85.0 MiB"
	if v.Verdict != None || !strings.Contains(v.Summary, want) {
		t.Errorf("full: %s", v.Summary)
	}
	// One that was at its bound at the last look, two seconds before the end, and what is live rises on.
	on := cut(leak().lookedAt("deque train.history", each, 340), 380)
	if v := on.judge(); v.Verdict == None {
		t.Errorf("full, and more comes: %s", v.Summary)
	}
	// One that has more than it could have has no bound.
	more := leak().lookedAt("deque train.history", each, 300)
	if v := more.judge(); v.Verdict != AppLeak {
		t.Errorf("with more than there can be: %s", v.Summary)
	}
	// One that could hold more than the device has is bounded by name alone.
	p := leak().lookedAt("deque train.history", each, 1<<30)
	p.meta.CapacityBytes = map[string]int64{record.LimitDevice: 80 * gib}
	if v := p.judge(); v.Verdict != AppLeak {
		t.Errorf("with a bound beyond the device: %s", v.Summary)
	}
}

func TestAHolderThatIsNotLongerAtALookDecidesNothing(t *testing.T) {
	t.Parallel()
	const each = 256 * kib
	p := wandering(300, each).lookedAt("list train.ring", each, 0)
	for i := range p.events {
		p.events[i].Holders[0].Length = 100 // what it holds is replaced
	}
	if v := p.judge(); v.Verdict != Undecided {
		t.Errorf("a ring: %s", v.Summary)
	}
}

func TestTheHolderThatTheLooksFoundStandsInTheAnswerAndInTheNextStep(t *testing.T) {
	t.Parallel()
	const each = 256 * kib
	p := newProgram(400).healthy().grows(record.ColLive, 60*mib, 0, each).
		set(record.ColGPU, func(i int) float64 { return 700*mib + each*float64(i) }).
		lookedAt("list train.snapshots", each, 0)
	// A path that one look alone saw is larger, and holds nothing of what grows.
	last := &p.events[len(p.events)-1]
	last.Holders = append(last.Holders,
		record.Holder{Path: "dict train.dataset", Bytes: 900 * mib, Count: 9, OverMs: last.Holders[0].OverMs})
	v := p.judge()
	if !strings.Contains(v.Answer, "list train.snapshots keeps ") || strings.Contains(v.Answer, "dataset") {
		t.Errorf("the answer: %s", v.Answer)
	}
	if !strings.HasPrefix(v.Next, "at list train.snapshots: keep the last snapshot") {
		t.Errorf("the next step: %s", v.Next)
	}
}

func TestAContainerWithABoundThatOneLookFoundLeavesAGrowthOpen(t *testing.T) {
	t.Parallel()
	const each = 64 * kib
	grows := func(bound int64) *program {
		p := newProgram(700).grows(record.ColRSS, 300*mib, 64*kib, each).grows(record.ColHostHeap, 200*mib,
			16*kib, each)
		h := record.Holder{Path: "OrderedDict app.thumbnails.kept", Length: 200, Count: 200,
			Bytes: 200 * each,
			Bound: bound, OverMs: 10_000}
		p.events = append(p.events, record.Event{TMs: 14_000, Kind: record.KindHolders,
			Holders: []record.Holder{h}})
		return p
	}
	v := grows(1500).judge()
	if v.Verdict != Undecided || !strings.Contains(v.Summary,
		"app.thumbnails.kept fills up: it had 200 of at most 1500") {
		t.Errorf("with a bound: %s", v.Summary)
	}
	for name, bound := range map[string]int64{"without one": 0, "a bound that was passed": 100} {
		if v := grows(bound).judge(); v.Verdict != HostGrowth {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
	p := grows(1500)
	p.events[0].Holders = append(p.events[0].Holders,
		record.Holder{Path: "list app.log", Length: 900, Count: 900,
			Bytes: 900 * each, OverMs: 10_000})
	if v := p.judge(); v.Verdict != HostGrowth {
		t.Errorf("beside one without: %s", v.Summary)
	}
}

// pooled is a program that fills a pool of 600 images in so many of its 900 rows, and
// takes so much more in each row of all.
func pooled(filled int, more float64) *program {
	const each = 110 * kib
	p := newProgram(900)
	host := func(i int) float64 { return each*600*min(float64(i)/float64(filled), 1) + more*float64(i) }
	walk := 0.
	return p.set(record.ColRSS, func(i int) float64 {
		walk += 40 * kib * p.r.NormFloat64()
		return 300*mib + host(i) + walk
	})
}

// fullAt is what a look at the end finds of the pool.
func (p *program) fullAt(length, bound int64) *program {
	h := record.Holder{Path: "list gan.pool.images", Length: length, Count: 400, Bytes: 400 * 110 * kib,
		Bound: bound}
	p.events = append(p.events, record.Event{TMs: 44_900, Kind: record.KindHolders,
		Holders: []record.Holder{h}})
	return p
}

func TestAContainerThatIsFullExplainsWhatItTook(t *testing.T) {
	t.Parallel()
	if v := pooled(660, 0).judge(); v.Verdict != Undecided {
		t.Fatalf("the trend is not open: %s", v.Summary)
	}
	v := pooled(660, 0).fullAt(600, 600).judge()
	if v.Verdict != None || !strings.Contains(v.Summary,
		"list gan.pool.images is full: it has 600 of at most 600 elements") {
		t.Errorf("%s", v.Summary)
	}
	for name, p := range map[string]*program{
		"a leak beside it goes on": pooled(660, 60*kib).fullAt(600, 600),
		"it is not full":           pooled(660, 0).fullAt(400, 600),
		"it has no bound":          pooled(660, 0).fullAt(600, 0),
	} {
		if v := p.judge(); v.Verdict == None {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

func TestNothingGrowsOnlyWhereWhatTheLooksFoundWouldHaveShown(t *testing.T) {
	t.Parallel()
	run := newProgram(400).flat(record.ColRSS, 100*mib, 2*mib).run()
	all := judgeAll(run, Options{}, trend.ForReport())
	hidden := *all[0].Judged.Detectable(&all[0].Grow[series.Host]) * all[0].Lived()
	for part, want := range map[float64]Class{.5: Undecided, 2: None} {
		s := &settled{Examined: all[0].Examined}
		s.take(finding.Finding{Of: series.Keys, Owner: finding.Nobody})
		s.weighObjects(&finding.Finding{By: ByObjects, Of: series.Host, Owner: finding.TheHost,
			Holder: "list app.kept",
			Size:   part * hidden})
		if s.class != want {
			t.Errorf("%g of what would have shown: %s", part, s.class)
		}
	}
}

// A ring that is full says nothing of a pool that may take more, nor one of a device's of the host.
func TestAFullContainerDecidesWhereThePoolIsNotOpen(t *testing.T) {
	t.Parallel()
	all := judgeAll(newProgram(400).healthy().run(), Options{}, trend.ForReport())
	for shape, want := range map[trend.Shape]Class{trend.ShapeUndecided: Undecided, trend.Flat: None} {
		for _, of := range [...]series.Key{series.Live, series.Device} {
			s := &settled{Examined: all[0].Examined}
			s.take(finding.Finding{Of: series.Keys})
			s.Grow[series.Idle] = trend.Growth{Known: true, Shape: shape, Rate: 90 * mib, Span: 1}
			s.weighObjects(&finding.Finding{By: ByObjects, Of: of, Owner: finding.Nobody, Score: .9})
			if s.class != want {
				t.Errorf("%s, of %v: %s", shape, of, s.class)
			}
		}
	}
	stills := func(host bool) *program {
		p := pooled(660, 0).fullAt(600, 600)
		p.events[len(p.events)-1].Holders[0].Host = host
		return p.set(record.ColLive, func(int) float64 { return 60 * mib }).
			set(record.ColIdle, func(int) float64 { return 9 * mib })
	}
	for host, want := range map[bool]Class{true: None, false: Undecided} {
		if v := stills(host).judge(); v.Verdict != want {
			t.Errorf("a host's %v: %s", host, v.Summary)
		}
	}
}

// A working set that swells by 300 MiB for 4 s of each 10 s, above a list that gets longer at each look.
func TestAListIsTheGrowthWhereTheFloorBelowTeethRisesAsItDoes(t *testing.T) {
	t.Parallel()
	const each = 160 * kib // 3.1 MiB a second
	judged := func(kept func(i int) float64) *Verdict {
		p := newProgram(820).healthy()
		tooth := func(i int) float64 {
			if i%200 < 80 {
				return 300 * mib
			}
			return 0
		}
		p.set(record.ColLive, func(i int) float64 { return 60*mib + tooth(i) + kept(i) })
		p.set(record.ColGPU, func(i int) float64 { return 700*mib + tooth(i) + kept(i) })
		return p.lookedAt("list main() local bench.castings", each, 0).judge()
	}
	even := func(i int) float64 { return each * float64(i) }
	if v := judged(even); v.Verdict != AppLeak || v.RestsOn != ByObjects || !strings.Contains(v.Answer, "bench.castings") {
		t.Errorf("the floor rises: %s by %s", v.Answer, v.RestsOn)
	}
	counted := newProgram(820).healthy()
	// Frames are gathered for 6 s, and handed over.
	gathered := func(i int) float64 { return float64(i % 117) }
	counted.set(record.ColLive, func(i int) float64 { return 60*mib + even(i) + 3*mib*gathered(i) })
	counted.set(record.ColGPU, func(i int) float64 { return 700*mib + counted.cols[record.ColLive][i] })
	counted.set(record.ColLiveCount, func(i int) float64 { return 50 + float64(i/10) + gathered(i)/3 })
	v := counted.lookedAt("list main() local bench.castings", each, 0).judge()
	if v.Verdict != AppLeak || v.RestsOn != ByObjects || !strings.Contains(v.Answer, "bench.castings") {
		t.Errorf("it is counted: %s by %s", v.Answer, v.RestsOn)
	}
	for what, kept := range map[string]func(i int) float64{
		"the floor holds still":      func(int) float64 { return 0 },
		"it rises in the first half": func(i int) float64 { return even(min(i, 300)) },
		"it was given back": func(i int) float64 {
			if i > 720 {
				return 0
			}
			return even(i)
		},
	} {
		if v := judged(kept); v.Verdict == AppLeak {
			t.Errorf("%s: %s", what, v.Answer)
		}
	}
}

func TestArraysOfADeviceExplainNoGrowthOfTheHost(t *testing.T) {
	t.Parallel()
	p := newProgram(400).healthy().lookedAt("list main() local trainer.kept", mib/20, 0)
	walk := func(most, perRow float64) func(int) float64 {
		level := 0.
		return func(i int) float64 {
			level += most * p.r.NormFloat64()
			return 500*mib + level + perRow*float64(i)
		}
	}
	p.set(record.ColLive, walk(4*mib, mib/2))
	p.set(record.ColGPU, func(i int) float64 { return 700*mib + p.cols[record.ColLive][i] })
	p.set(record.ColRSS, walk(mib/8, mib/20))
	for _, f := range p.judge().Findings {
		if f.Evidence == ByObjects {
			t.Errorf("%+v", f)
		}
	}
}
