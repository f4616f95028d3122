package trend

import "testing"

func TestALoadAsStraightAsTimeIsNotTakenOutOfASeries(t *testing.T) {
	t.Parallel()
	const n = 64
	x, y, load := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], load[i] = float64(i), 100-float64(i)
		y[i] = float64(i%7) * (1 << 20)
	}
	before := append([]float64(nil), y...)
	if doubt := adjust(x, y, load); doubt != 0 {
		t.Errorf("%.0f B are in doubt", doubt)
	}
	for i := range y {
		if y[i] != before[i] {
			t.Fatalf("block %d was changed from %.0f to %.0f", i, before[i], y[i])
		}
	}
}
