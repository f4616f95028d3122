package trend

import "testing"

func TestStepsOfAWarmUpAreNoAxis(t *testing.T) {
	t.Parallel()
	const rows, mib = 150, 1 << 20
	judged := func(t, steps, held func(i int) float64) Growth {
		a, v := Axes{T: make([]float64, rows), Step: make([]float64, rows)}, make([]float64, rows)
		for i := range v {
			a.T[i], a.Step[i], v[i] = t(i), steps(i), 100*mib+.7*mib*held(i)
		}
		return a.Examine(v, Question{Delta: mib, Share: .5, Net: .5, Conditions: ForReport()})
	}
	hasty := func(i int) float64 { return min(float64(i), 39) + float64(i/40) }
	from := func(i int) float64 { return float64(i)*.005 + max(0, float64(i-40))*.06 } // a row a step at first
	warm := func(i int) float64 { return min(hasty(i), 40) }
	if g := judged(from, hasty, warm); g.Axis != ByTime || g.Growing() {
		t.Errorf("forty steps in .2 s and three in the rest of 7 s: %s by axis %d", g.Shape, g.Axis)
	}
	slower := func(i int) float64 { return float64(i)*.06 + max(0, float64(i-75))*.2 } // than before
	each := func(i int) float64 { return float64(i) }
	if g := judged(slower, each, each); g.Axis != ByStep || !g.Growing() {
		t.Errorf("a growth with each step, of which the later ones are slower: %s by axis %d", g.Shape, g.Axis)
	}
}
