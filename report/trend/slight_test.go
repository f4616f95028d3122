package trend

import "testing"

func TestWhatNeverRoseByWhatMattersIsFlatHoweverAStepIsCarriedOn(t *testing.T) {
	t.Parallel()
	judged := func(rows int, y func(i int) float64) Growth {
		at, v := make([]float64, rows), make([]float64, rows)
		for i := range v {
			at[i], v[i] = float64(i)/15, y(i)
		}
		a := Axes{T: at}
		return a.Examine(v, Question{Delta: 4 << 20, Share: 0, Net: .5, Conditions: ForReport()})
	}
	// The driver takes two MiB at a time, here twice.
	steps := func(i int) float64 { return float64(min(1, i/25)+min(1, i/60)) * (1 << 20) * 1.7 }
	if g := judged(130, steps); g.Shape != Flat || g.Upper > 4<<20 {
		t.Errorf("%s, up to %.0f", g.Shape, g.Upper)
	}
	if g := judged(80, steps); g.Shape != ShapeUndecided {
		t.Errorf("in 5 s: %s", g.Shape)
	}
	if g := judged(130, func(i int) float64 { return float64(i) * (3 << 20) / 130 }); g.Shape == Flat && g.Upper < g.Rate {
		t.Errorf("a straight rise: %s up to %.0f", g.Shape, g.Upper)
	}
}

func TestWhatClimbsAtItsEndIsNoStep(t *testing.T) {
	t.Parallel()
	judged := func(y func(i int) float64) Shape {
		at, v := make([]float64, 110), make([]float64, 110)
		for i := range v {
			at[i], v[i] = float64(i)/16, y(i)
		}
		a := Axes{T: at}
		return a.Examine(v, Question{Delta: 1 << 20, Share: .5, Net: .5, Conditions: ForReport()}).Shape
	}
	const mib = 1 << 20
	if got := judged(func(i int) float64 { return 5*mib + float64(max(0, i-85))*mib }); got != ShapeUndecided {
		t.Errorf("a rise from 5 to 30 MiB in the last quarter: %s", got)
	}
	tooth := func(i int) float64 { return 100*mib + float64(i%40)*25*mib/40 }
	if got := judged(tooth); got == ShapeUndecided {
		t.Errorf("one of a few teeth: %s", got)
	}
	if got := judged(func(i int) float64 { return 5*mib + float64(min(1, i/60))*20*mib }); got != Step {
		t.Errorf("a step in the middle: %s", got)
	}
}
