package growth

import (
	"testing"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

func TestBytesThatRoseAndAreOpenEclipseHandlesWithoutBytes(t *testing.T) {
	t.Parallel()
	of := func(shape trend.Shape, low float64) series.Key {
		var g Growths
		g[series.Handles] = trend.Growth{Known: true, Shape: trend.Growing, Rate: 3, Span: 20}
		g[series.Live] = trend.Growth{Known: true, Shape: shape, Rate: 2 * low, Low: low, Span: 20, Delta: mib}
		return g.Eclipsed(g.Amounts(), series.Handles, finding.TheDriver)
	}
	if k := of(trend.ShapeUndecided, mib); k != series.Live {
		t.Errorf("40 MiB that may go on leave the handles the answer: %d", k)
	}
	if k := of(trend.ShapeUndecided, mib/10); k != series.Keys {
		t.Errorf("little takes the answer away: %d", k)
	}
	if k := of(trend.Plateau, mib); k != series.Keys {
		t.Errorf("a warm-up takes the answer away: %d", k)
	}
}
