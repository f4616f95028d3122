package evidence

import (
	"testing"

	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// A pool that is emptied at the end may have grown until then: where the work repeats, an idle account
// that rose and of which no trend tells is no proof of health.
func TestWhatCameBackOfARepeatedWorkMayHaveGrown(t *testing.T) {
	t.Parallel()
	left := &series.Leftovers{}
	left.Held[series.Live], left.Held[series.Idle] = []float64{0}, []float64{0}
	rose := func(shape trend.Shape, blocks ...float64) *growth.Growths {
		return &growth.Growths{series.Idle: {Known: true, Shape: shape, BlockY: blocks,
			End: blocks[len(blocks)-1], Noise: mib}}
	}
	const open = trend.ShapeUndecided
	for name, x := range map[string]struct {
		grow    *growth.Growths
		stepped bool
		healthy bool
	}{
		"it rose by step":     {rose(open, 0, 160*mib, 320*mib, 650*mib), true, false},
		"without steps":       {rose(open, 0, 160*mib, 320*mib, 650*mib), false, true},
		"it filled":           {rose(open, 0, 640*mib, 649*mib, 650*mib), true, true},
		"a trend found still": {rose(trend.Flat, 0, 160*mib, 320*mib, 650*mib), true, true},
	} {
		if got := findGaveBack(left, x.grow, false, x.stepped, mib); (got != nil) != x.healthy {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
