package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// askedAgain adds one look at a holder, by which came what a column rose by, and what the holder
// had become a second later. The elements are those that came by then.
func (p *program) askedAgain(h record.Holder, column string, lengths ...int64) *program {
	const from, look, again = 80, 120, 141
	v := p.cols[column]
	for i, row := range [...]int{look, again} {
		h.Length, h.Count, h.OverMs = lengths[i], max(h.Count, lengths[i]), 50*float64(row-from)
		if h.Bytes == 0 || !h.Graphs {
			h.Bytes = max(int64(v[row]-v[from]), 1)
		}
		p.events = append(p.events, record.Event{TMs: 50 * float64(row), Kind: record.KindHolders,
			Holders: []record.Holder{h}})
	}
	return p
}

func TestAHolderThatWentOnRightAfterALookIsBelievedWhileTheDeviceIsYoung(t *testing.T) {
	t.Parallel()
	kept := record.Holder{Path: "list train.kept"}
	bounded := record.Holder{Path: "list train.kept", Bound: 40}
	outputs := record.Holder{Path: "list train.losses", Graphs: true, Bytes: 64}
	more := map[string]int{}
	for seed := range uint64(60) {
		begun := func() *program { return early(175, seed, 2*mib) }
		alone := begun().judge()
		for name, p := range map[string]*program{
			"went on":      begun().askedAgain(kept, record.ColLive, 12, 18),
			"outputs":      begun().askedAgain(outputs, record.ColLive, 12, 18),
			"stood still":  begun().askedAgain(kept, record.ColLive, 12, 12),
			"few elements": begun().askedAgain(kept, record.ColLive, 2, 4),
			"a bound":      begun().askedAgain(bounded, record.ColLive, 12, 18),
		} {
			v := p.judge()
			if alone.Verdict == AppLeak && v.Verdict != AppLeak && name != "a bound" {
				t.Errorf("%s took back: %s", name, v.Summary)
			}
			if alone.Verdict == Undecided && v.Verdict == AppLeak {
				more[name]++
			}
		}
	}
	if more["went on"] < 8 || more["outputs"] < 8 || more["stood still"]+more["few elements"]+more["a bound"] > 0 {
		t.Errorf("decided more of 60: %v", more)
	}
}

// A look that tells a holder once leaves open whether it went on; a straight rise of some seconds
// does not.
func TestOneLookIsBelievedWhereMemoryRisesInAStraightLine(t *testing.T) {
	t.Parallel()
	more, bounded := 0, 0
	for seed := range uint64(60) {
		with := func(bound int64) Class {
			p := early(175, seed, 2*mib)
			v := p.cols[record.ColLive]
			h := record.Holder{Path: "list train.kept", Length: 30, Count: 30, Bound: bound, OverMs: 2000,
				Bytes: max(int64(v[140]-v[100]), 1)}
			p.events = append(p.events, record.Event{TMs: 7000, Kind: record.KindHolders, Holders: []record.Holder{h}})
			return p.judge().Verdict
		}
		if early(175, seed, 2*mib).judge().Verdict != Undecided {
			continue
		}
		if with(0) == AppLeak {
			more++
		}
		if with(40) == AppLeak {
			bounded++
		}
	}
	if more < 3 || bounded > 0 {
		t.Errorf("decided %d of 60 more, and %d with a bound", more, bounded)
	}
}

func TestAHolderOfTheHostIsBelievedWhileTheDeviceIsYoung(t *testing.T) {
	t.Parallel()
	kept := record.Holder{Path: "list train.pages", Host: true}
	more, wrong := 0, 0
	for seed := range uint64(60) {
		begun := func() *program {
			p := early(175, seed, 2*mib)
			rises := p.cols[record.ColLive]
			p.set(record.ColRSS, func(i int) float64 { return 300*mib + rises[i] })
			p.set(record.ColFootprint, func(i int) float64 { return 300*mib + rises[i] })
			p.set(record.ColHostHeap, func(i int) float64 { return 200*mib + rises[i] })
			return p.flat(record.ColLive, 60*mib, 0).flat(record.ColGPU, 700*mib, 0)
		}
		alone := begun().judge()
		if alone.Verdict != Undecided {
			continue
		}
		if v := begun().askedAgain(kept, record.ColFootprint, 12, 18).judge(); v.Verdict == HostGrowth {
			more++
		}
		if v := begun().askedAgain(kept, record.ColFootprint, 12, 12).judge(); v.Verdict == HostGrowth {
			wrong++
		}
	}
	if more < 8 || wrong > 0 {
		t.Errorf("decided %d of 60 more, and %d by one look", more, wrong)
	}
}

// A buffer is told where each look found it longer, and a graph likewise: each is one thing.
func TestABufferThatGotLongerIsBelievedWhileTheDeviceIsYoung(t *testing.T) {
	t.Parallel()
	decided := map[string]int{}
	for seed := range uint64(60) {
		for name, h := range map[string]record.Holder{
			"": {}, "buffer": {Path: "bytearray main() local link.outbox"}, "array": {Path: "main() local link.last"},
		} {
			p := early(175, seed, 2*mib)
			rises := p.cols[record.ColLive]
			p.set(record.ColRSS, func(i int) float64 { return 300*mib + rises[i] })
			p.set(record.ColFootprint, func(i int) float64 { return 300*mib + rises[i] })
			p.set(record.ColHostHeap, func(i int) float64 { return 200*mib + rises[i] })
			p.flat(record.ColLive, 60*mib, 0).flat(record.ColGPU, 700*mib, 0)
			if h.Path != "" {
				h.Host, h.Count, h.OverMs, h.Bytes = true, 1, 4000, max(int64(rises[160]-rises[80]), 1)
				p.events = append(p.events, record.Event{TMs: 8000, Kind: record.KindHolders, Holders: []record.Holder{h}})
			}
			if p.judge().Verdict == HostGrowth {
				decided[name]++
			}
		}
	}
	if decided["buffer"] < decided[""]+8 || decided["array"] > decided[""] {
		t.Errorf("%v of 60 decided", decided)
	}
}

// A program that compiles its first kernels takes more host memory than it leaks on the device.
func TestWhatTheProgramHoldsIsBelievedBesideAHostThatCompilesWhileTheDeviceIsYoung(t *testing.T) {
	t.Parallel()
	hosts, held := 0, 0
	for seed := range uint64(60) {
		begun := func() *program {
			p := early(175, seed, 2*mib)
			climbs := func(i int) float64 { return 300*mib + float64(i)*128*kib }
			return p.set(record.ColRSS, climbs).set(record.ColFootprint, climbs).set(record.ColHostHeap, climbs)
		}
		alone := begun().judge()
		p := begun()
		v := p.cols[record.ColLive]
		for i, row := range []int{60, 90, 130, 170} {
			h := record.Holder{Path: "list train.pairs", Length: int64(8 * (i + 1)), Count: int64(8 * (i + 1)),
				OverMs: 50 * float64(row-20), Bytes: max(int64(v[row]-v[20]), 1)}
			p.events = append(p.events, record.Event{TMs: 50 * float64(row), Kind: record.KindHolders,
				Holders: []record.Holder{h}})
		}
		if alone.Verdict != HostGrowth {
			continue
		}
		hosts++
		if p.judge().Verdict == AppLeak {
			held++
		}
	}
	if hosts < 8 || held < hosts-1 { // one of them holds little by then
		t.Errorf("of 60 the host alone is accused in %d, and what is held in %d of these", hosts, held)
	}
}

// TestASlightGrowthLateInARunIsOpen: a heap settled for half a minute, in a recording of a program
// whose host memory then crept by half a percent, in portions.
func TestASlightGrowthLateInARunIsOpen(t *testing.T) {
	t.Parallel()
	likely := func(level float64) (n int) {
		for seed := range uint64(60) {
			p, r, crept := newProgram(800).healthy(), rand.New(rand.NewPCG(seed, 5)), 0.
			host := make([]float64, 800)
			for i := range host {
				if i > 420 && r.IntN(60) == 0 {
					crept += 800 * kib * (.2 + 2*r.Float64())
				}
				host[i] = level + crept
			}
			p.meta.Versions = map[string]string{"python": "3.12"}
			for column, less := range map[string]float64{record.ColRSS: 0, record.ColFootprint: 0,
				record.ColHostHeap: 30 * mib} {
				p.set(column, func(i int) float64 { return host[i] - less })
			}
			if v := p.judge(); v.Verdict == HostGrowth && v.Tier != Confirmed {
				n++
			}
		}
		return n
	}
	if n := likely(1000 * mib); n > 0 {
		t.Errorf("%d of 60 are accused", n)
	}
	if n := likely(100 * mib); n == 0 {
		t.Error("none of those beside which it is not little is")
	}
}

// A heap that crept by three MiB, straight, in the second half of three quarters of a minute.
func TestTheSlightestGrowthLateInARunIsOpenHoweverStraight(t *testing.T) {
	t.Parallel()
	judged := func(rise float64) *Verdict {
		p := newProgram(900).healthy()
		p.meta.Versions = map[string]string{"python": "3.12"}
		creeps := func(i int) float64 { return 1000*mib + rise*math.Max(0, float64(i-400)/500) }
		return p.set(record.ColRSS, creeps).set(record.ColFootprint, creeps).set(record.ColHostHeap, creeps).judge()
	}
	if v := judged(3 * mib); v.Verdict != Undecided || !strings.Contains(v.Answer, "a heap that settles does so") {
		t.Errorf("three MiB: %s", v.Summary)
	}
	if v := judged(30 * mib); v.Verdict != HostGrowth || v.Tier != Confirmed {
		t.Errorf("thirty MiB: %s", v.Summary)
	}
}
