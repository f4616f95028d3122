package driven

import (
	"slices"
	"testing"
)

const mib = 1 << 20

// TestAGrowthThatIsAllJumpsHasTheirRate: an array of a device that is made larger by half
// each time that it is full, as a vector is, in MiB each .4 s.
func TestAGrowthThatIsAllJumpsHasTheirRate(t *testing.T) {
	t.Parallel()
	held := []float64{205, 221, 241, 261, 282, 292, 307, 338, 338, 338, 408, 408, 408, 408, 442}
	for _, level := range []struct {
		n   int
		mib float64
	}{{8, 512}, {1, 564}, {11, 668}, {18, 902}, {11, 1253}} {
		held = append(held, slices.Repeat([]float64{level.mib}, level.n)...)
	}
	of := unitFit{by: []unitSeries{{unit: unit{name: "second"}}}}
	for i := range held {
		of.by[0].x = append(of.by[0].x, .4*float64(i))
		held[i] *= mib
	}
	d := of.alone(held, 2.15e15, .6*mib)
	if d == nil || d.Value < 40*mib || d.Value > 46*mib {
		t.Errorf("1048 MiB in 25 s, told %+v", d)
	}
}
