package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
)

// A run shorter than trend.LeastRows has no trend test. A growth is then
// suspected by its size alone, and only when it is plain: it never falls, it
// goes on to the end, it is at least leastMagnitude, and it at least doubles
// what there was.
const (
	leastMagnitude = 64 * mib
	minRows        = 3
	lastPart       = .1 // of the growth that the last stretch must still bring
)

// slope is one stretch of a short run.
type slope struct{ bytes, seconds, steps float64 }

// magnitude judges runs too short for a trend by the size of the growth.
func (s *subject) magnitude() {
	if !s.short || s.restsOn != "" {
		return
	}
	n := len(s.led.clock)
	s.class, s.primary, s.raw = Undecided, keys, 0
	s.why = fmt.Sprintf("%d samples are too few for a trend (%d are needed)", n, trend.LeastRows)
	if n == 1 {
		s.why = fmt.Sprintf("one sample is too little for a trend (%d are needed)", trend.LeastRows)
	}
	if n < minRows {
		return
	}
	most := float64(leastMagnitude)
	for _, k := range accountKeys {
		if b := plainGrowth(s.led.series[k]); b > most {
			most, s.primary = b, k
		}
	}
	if s.primary == keys {
		return
	}
	s.restsOn, s.why, s.raw = ByMagnitude, "", .7
	switch s.primary {
	case keyLive:
		s.class = AppLeak
	case keyIdle:
		s.class = PoolGrowth
	case keyUntracked:
		s.class = DriverGrowth
	default:
		s.class = s.shortHostClass(most)
	}
}

// shortHostClass: with the program's own pool and objects in sight and still,
// and no driver's counter or heap to speak against it, the driver is
// suspected; else nothing tells it from the heap.
func (s *subject) shortHostClass(bytes float64) Class {
	own := 0.
	seen := false
	for _, k := range [...]key{keyLive, keyIdle} {
		if v := stat.Known(s.led.series[k]); len(v) > 0 {
			own += v[len(v)-1] - v[0]
			seen = true
		}
	}
	if heap := stat.Known(s.led.series[keyHeap]); len(heap) > 1 {
		if heap[len(heap)-1]-heap[0] < bytes/2 {
			return DriverGrowth
		}
		return HostGrowth
	}
	if seen && own < bytes/100 && !s.led.book.HasDevice() {
		return DriverGrowth
	}
	return HostGrowth
}

// plainGrowth is the growth of a series that never falls, doubles, and still
// rises at the end; else 0.
func plainGrowth(y []float64) float64 {
	v := stat.Known(y)
	if len(v) < minRows {
		return 0
	}
	for i := 1; i < len(v); i++ {
		if v[i] < v[i-1] {
			return 0
		}
	}
	total := v[len(v)-1] - v[0]
	if total < math.Max(v[0], 1) || v[len(v)-1]-v[len(v)-2] < lastPart*total {
		return 0
	}
	return total
}

// stretches are the parts of a short series between its known rows.
func (s *subject) stretches(k key) []slope {
	var out []slope
	last := -1
	for i, v := range s.led.series[k] {
		if v != v {
			continue
		}
		if last >= 0 {
			p := slope{bytes: v - s.led.series[k][last], seconds: s.led.clock[i] - s.led.clock[last]}
			if s.led.Step != nil {
				p.steps = s.led.Step[i] - s.led.Step[last]
			}
			out = append(out, p)
		}
		last = i
	}
	return out
}
