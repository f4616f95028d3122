package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// trials is a program of 40 s whose live bytes go back and forth between five levels, one of
// of which it draws one every other second.
func trials() *program {
	p := newProgram(800).healthy()
	// The first ones are low but for one, so that a line through all of them rises.
	drawn := [...]float64{75, 80, 108, 75, 80, 75, 89, 80, 94, 89, 75, 108, 80, 94, 108, 75, 108, 94, 108, 94}
	live := func(i int) float64 { return drawn[i/40] * mib }
	p.set(record.ColLive, live).set(record.ColIdle, func(i int) float64 { return 130*mib - live(i) })
	return p.set(record.ColGPU, func(i int) float64 { return 800 * mib })
}

func TestWhatGoesBackAndForthBetweenTheSameLevelsKeepsNothing(t *testing.T) {
	t.Parallel()
	if v := trials().judge(); v.Verdict != None || !isSettled(rowOf(v, Live).Shape) {
		t.Errorf("live %s: %s", rowOf(v, Live).Shape, v.Summary)
	}
}

// isSettled reports a shape that is neither growing nor open.
func isSettled(s trend.Shape) bool { return s != trend.Growing && s != trend.ShapeUndecided }

// takesMore is a program whose pool takes more of the driver at some rows, of 800 in 40 s.
func takesMore(at []int, bytes float64) *program {
	p := newProgram(800).healthy()
	idle := func(i int) float64 {
		kept := 55. * mib
		for _, row := range at {
			if i >= row {
				kept += bytes
			}
		}
		return kept
	}
	p.set(record.ColLive, func(int) float64 { return 4 * mib }).set(record.ColIdle, idle)
	return p.set(record.ColGPU, func(i int) float64 { return 520*mib + idle(i) })
}

func TestOneSegmentThatAPoolTookLateIsNoGrowth(t *testing.T) {
	t.Parallel()
	// The pool of CuPy in this recording took 17 MiB after 32 of 47 seconds.
	if v := recordedShortly(t, "one-segment-late", "cupy"); v.Verdict != None {
		t.Errorf("recorded: %s", v.Summary)
	}
	for name, p := range map[string]*program{
		"one":        takesMore([]int{620}, 17*mib),
		"two slight": takesMore([]int{400, 560}, 2*mib),
	} {
		if v := p.judge(); v.Verdict != None {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
	for name, p := range map[string]*program{
		"one after other": takesMore([]int{60, 180, 300, 420, 540, 660, 780}, 17*mib),
		"three":           takesMore([]int{300, 480, 660}, 17*mib),
		"slight ones":     takesMore([]int{40, 120, 200, 280, 360, 440, 520, 600, 680, 760}, 2*mib),
	} {
		if v := p.judge(); v.Verdict == None {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}
