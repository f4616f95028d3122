package trend

import (
	"math/rand/v2"
	"testing"
)

// TestAGrowthThatWouldHaveBeenSeenIsNotDenied: six seconds in which what each step takes and
// gives back is larger than all that is kept. None of them is flat, and their healthy twins are.
func TestAGrowthThatWouldHaveBeenSeenIsNotDenied(t *testing.T) {
	t.Parallel()
	const kib, mib, rows = 1 << 10, 1 << 20, 120
	shapes := map[string]map[Shape]int{"growing": {}, "healthy": {}}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		a, grows, still := &Axes{}, make([]float64, rows), make([]float64, rows)
		for i := range rows {
			a.T = append(a.T, float64(i)*.05)
			still[i] = 500*mib + 2*mib*r.NormFloat64()
			grows[i] = still[i] + 64*kib*float64(i)
		}
		q := Question{Delta: mib, Conditions: ForReport()}
		if g := a.Examine(grows, q); g.Shape == Flat && g.Amount() > 2*g.Seen() && g.P < .01 {
			t.Errorf("seed %d: flat, and grew by %.0f KiB where %.0f would have been seen", seed, g.Amount()/kib,
				g.Seen()/kib)
		} else {
			shapes["growing"][g.Shape]++
		}
		g := a.Examine(still, q)
		shapes["healthy"][g.Shape]++
	}
	t.Log(shapes)
	if n := shapes["growing"][Flat]; n > 12 {
		t.Errorf("%d of 60 growths are flat", n)
	}
	if n := shapes["healthy"][Growing]; n > 0 {
		t.Errorf("%d of 60 healthy ones grow", n)
	}
}
