package cause

import (
	"math"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestRequestsThatClimbLeaveThePoolWhatTheyOutgrew(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		sizes []float64 // MiB, of one request each
		named bool
	}{
		"each larger than the one before": {[]float64{18, 20, 22, 24, 26, 28, 30}, true},
		"one smaller among many":          {[]float64{18, 20, 22, 24, 26, 25, 28, 30, 32, 34, 36, 38}, true},
		"all alike":                       {[]float64{20, 20, 20, 20, 20, 20, 20}, false},
		"up and down":                     {[]float64{18, 30, 19, 33, 20, 36, 21}, false},
		"too few":                         {[]float64{18, 24, 30, 36}, false},
		"a little larger":                 {[]float64{40, 40, 41, 41, 42, 42, 43}, false},
		"many a little larger":            {rising(40, .2, 24), true},
		"alike but for the start":         {append([]float64{5, 30, 30, .1, 30}, rising(20, 0, 50)...), false},
		"in steps of the allocator":       {[]float64{14, 14, 16, 16, 16, 18, 18, 18, 20, 20, 20}, true},
		"in steps, and one smaller":       {[]float64{14, 14, 16, 16, 16, 18, 18, 18, 20, 20, 18}, false},
		"two steps":                       {[]float64{14, 14, 14, 16, 16, 16, 16, 20, 20, 20, 20}, false},
		"many hardly larger":              {rising(40, .01, 24), false},
	} {
		live, idle, misses := []float64{math.NaN(), 50 * mib}, []float64{math.NaN(), 10 * mib}, []float64{math.NaN(), 4}
		for i, size := range x.sizes {
			last := len(idle) - 1
			live = append(live, 50*mib, math.NaN(), 60*mib) // where it moves from one to the other nothing is taken
			idle = append(idle, idle[last]+size*mib, math.NaN(), idle[last]+(size-10)*mib)
			misses = append(misses, float64(5+i), math.NaN(), float64(5+i))
			live, idle, misses = append(live, 50*mib), append(idle, idle[last]+size*mib), append(misses, float64(5+i))
		}
		grows := &Case{Class: account.PoolGrowth, Confidence: 1, ByTrend: true, Size: 100 * mib}
		// A pool that does not count what it cannot serve asks the driver for each.
		for _, counts := range []string{record.ColPoolMisses, record.ColDriverAllocs} {
			grows.Judged.Columns = map[string][]float64{record.ColLive: live, record.ColIdle: idle, counts: misses}
			found := Of(grows)
			if got := idsOf(found); slices.Contains(got, Outgrown) != x.named || x.named && got[0] != Outgrown {
				t.Errorf("%s, by %s: causes %v", name, counts, got)
			}
		}
	}
}

// rising are n sizes of which each is so much larger than the one before.
func rising(first, more float64, n int) []float64 {
	var sizes []float64
	for i := range n {
		sizes = append(sizes, first+more*float64(i))
	}
	return sizes
}
