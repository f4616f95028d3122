package verdict

import (
	"math"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// restingFrom is a program whose live memory grows with its allocations, a piece a
// row, and which waits for its end from a row on.
func restingFrom(end int, waits func(i int) float64) *program {
	p := newProgram(600).healthy()
	delete(p.cols, record.ColStep)
	work := func(i int) float64 { return float64(min(i, end)) }
	p.set(record.ColAllocs, func(i int) float64 { return 6 + 3*work(i) })
	p.set(record.ColFrees, func(i int) float64 { return 1 + 2*work(i) })
	p.set(record.ColLive, func(i int) float64 { return 60*mib + mib*work(i) + waits(i) })
	p.set(record.ColGPU, func(i int) float64 { return 700*mib + mib*work(i) + waits(i) })
	return p.set(record.ColLiveCount, func(i int) float64 { return 40 + work(i) })
}

func TestALeakEndsNotWhenTheWorkDoes(t *testing.T) {
	t.Parallel()
	still := func(int) float64 { return 0 }
	for name, c := range map[string]struct {
		p    *program
		leak bool
	}{
		"it works to its end":             {restingFrom(600, still), true},
		"it waits for a tenth of the run": {restingFrom(545, still), true},
		"it waits for a fourth":           {restingFrom(450, still), false},
	} {
		if v := c.p.judge(); (v.Verdict == AppLeak) != c.leak || v.Verdict == HostGrowth {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

func TestASmallGrowthIsNotTheAnswerBesideAFarLargerRise(t *testing.T) {
	t.Parallel()
	p := restingFrom(545, func(i int) float64 { return float64(i%2) * 512 }).grows(record.ColFootprint, 500*mib,
		4*kib, 8*kib).
		grows(record.ColHostHeap, 100*mib, 4*kib, 8*kib)
	if v := p.judge(); v.Verdict != Undecided {
		t.Errorf("%s", v.Summary)
	}
	healthy := newProgram(600).healthy().grows(record.ColFootprint, 500*mib, 4*kib,
		8*kib).grows(record.ColHostHeap, 100*mib, 4*kib, 8*kib)
	if v := healthy.judge(); v.Verdict != HostGrowth {
		t.Errorf("the small growth alone: %s", v.Summary)
	}
}

func TestWhatIsLetGoOfAsFunctionsReturnIsNoEndOfAGrowth(t *testing.T) {
	t.Parallel()
	const exit = 790
	returning := func(from int, falls float64) *Verdict {
		p := newProgram(800).set(record.ColRSS, func(i int) float64 {
			level := 120*mib + 75*mib*(1-math.Exp(-float64(i)/500))
			if i >= from {
				level -= falls
			}
			return level
		})
		return p.phase(record.PhaseExiting, exit).judge()
	}
	for name, v := range map[string]*Verdict{
		"all at its exit":       returning(exit+1, 60*mib),
		"in the row before it":  returning(exit, 40*mib),
		"in three rows before":  returning(exit-3, 40*mib),
		"a little at each exit": returning(exit-3, mib),
	} {
		if v.Verdict != HostGrowth {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}
