package series

import "testing"

func TestACountThatOnlyCountsAllocationsIsKnownByItsRise(t *testing.T) {
	t.Parallel()
	level, rising := []float64{7, 7, 7, 7}, []float64{7, 9, 12, 30}
	for name, c := range map[string]struct {
		count, allocs, live []float64
		want                bool
	}{
		"it rises with them, live bytes stay":  {rising, rising, level, true},
		"nothing is allocated any more":        {level, level, level, false},
		"what is allocated stays, and so more": {rising, rising, []float64{7, 70, 700, 7000}, false},
		"something was given back":             {level, rising, level, false},
		"nobody counts allocations":            {rising, nil, level, false},
	} {
		if got := runningTotal(c.count, c.allocs, c.live); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
