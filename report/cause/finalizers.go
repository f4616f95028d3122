package cause

import (
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/internal/stat"
)

// leastFall is the least fall of live memory that is told from the work's own.
const leastFall = 4 * mib

// heapLate is how much later than other counters a heap may be told, in seconds:
// the Go agent reads its own at most every 10 ms.
const heapLate = .015

// finalizers: live memory falls only when the host's heap is collected: the
// collector, which does not see device bytes, decides when buffers go.
func finalizers(c *Case) *Cause {
	live, heap := c.Live.Judged, c.Heap.Judged
	if live == nil || heap == nil {
		return nil
	}
	// Setting up is no collection.
	reach := stat.Quantile(stat.Known(heap), .9) - stat.Quantile(stat.Known(heap), .1)
	collected := c.near(heap, reach/4)
	falls, with, chance, largest := 0, 0, 0, 0.
	for i := range live {
		if collected[i] {
			chance++
		}
		if i == 0 || !(live[i-1]-live[i] >= leastFall) {
			continue
		}
		falls, largest = falls+1, math.Max(largest, live[i-1]-live[i])
		if collected[i] {
			with++
		}
	}
	if falls < 3 || with < falls*9/10 || reach <= 0 || float64(chance) > .2*float64(len(live)) {
		return nil
	}
	return &Cause{ID: Finalizers, Confidence: .8,
		Evidence: evidence("live memory falls %d times, by up to %s, each time when the heap is "+
			"collected",
			falls, units.Bytes(largest)),
		Next: "close buffers where their use ends, or tell the collector of their size: it " +
			"sees a few bytes of each"}
}

// near marks the rows within two, or heapLate, of a fall of the heap. So many of
// all are there by accident.
func (c *Case) near(heap []float64, fall float64) []bool {
	out := make([]bool, len(heap))
	t := c.Judged.Clock
	for i := 1; i < len(heap); i++ {
		if !(heap[i-1]-heap[i] > fall) {
			continue
		}
		for j := i; j >= 0 && (j >= i-2 || t[i]-t[j] <= heapLate); j-- {
			out[j] = true
		}
		for j := i; j < min(i+3, len(heap)); j++ {
			out[j] = true
		}
	}
	return out
}
