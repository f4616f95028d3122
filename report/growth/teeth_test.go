package growth

import (
	"testing"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// A trend may see blocks of a window rise that are about as long as the teeth in it. Where the valleys between
// these are as low each time, nothing stayed.
func TestAGrowthOfHostMemoryThatAllValleysDenyIsNone(t *testing.T) {
	t.Parallel()
	const rows, tooth = 280, 29
	every := func(teeth int, rise float64) func(n int) float64 {
		return func(n int) float64 { return 888*mib + float64(n/teeth)*rise }
	}
	for name, c := range map[string]struct {
		valley func(n int) float64 // of the nth tooth
		high   float64             // bytes that a tooth rises by
		want   trend.Shape
	}{
		"as low each time":             {every(1, 0), 15 * mib, trend.Bounded},
		"a little higher now and then": {func(n int) float64 { return 888*mib + float64(n%3)*mib }, 15 * mib, trend.Bounded},
		"higher each time":             {every(1, mib), 15 * mib, trend.Growing},
		"higher in the second half":    {every(5, 3*mib), 15 * mib, trend.Growing},
		"but the teeth are low":        {every(1, 0), 4 * mib, trend.Growing},
	} {
		x := &Examined{}
		clock, host := make([]float64, rows), make([]float64, rows)
		for i := range clock {
			clock[i] = float64(i) / 20
			host[i] = c.valley(i/tooth) + c.high*float64(i%tooth)/tooth
		}
		x.Judged = &series.Accounts{Track: &series.Track{Clock: clock}}
		x.Judged.Series[series.Host] = host
		x.Grow[series.Host].Shape, x.Grow[series.Host].Known = trend.Growing, true
		x.settleFloorsOf(series.Host)
		if got := x.Grow[series.Host].Shape; got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
