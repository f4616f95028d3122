package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// An array that is made whole and written bit by bit, as a buffer of experiences is,
// takes memory of the machine with each page that is touched for the first time. All of
// it was asked for at once, and it ends where the array does.
const (
	reservesAnew = 1. / 8 // of the growth, at most, that the process reserves meanwhile
	headAndTail  = 1. / 4 // of the growth's rows, in which the reserved memory is compared
	heapKnownBy  = 1. / 3 // of the growth's time: the heap is read before, and again in the last third
)

// findReserved is the finding about host memory that grows as the program touches what
// its heap had handed out before: the heap hands out no more, the process reserves no
// more, and so much was untouched. Nil of another growth.
func findReserved(x *examined) *finding {
	g := &x.grow[keyHost]
	if !g.Growing() || x.judged.untimed || !x.reservesNothing(g.From, reservesAnew*g.Amount()) {
		return nil
	}
	heap, untouched, ok := x.heapBeyondTouched(g.From, reservesAnew*g.Amount())
	if !ok || untouched < g.Amount() {
		return nil
	}
	return &finding{by: ByObjects, of: keyHost, owner: nobody, score: .9, why: fmt.Sprintf(
		"host memory rises as the program fills what it had reserved before: its heap hands out %s and no more, "+
			"of which %s had not been touched", units.Bytes(heap), units.Bytes(untouched))}
}

// reservesNothing reports whether the process reserves no more than so much from a row
// on: by the least that it had in the first rows and in the last, as blocks come and go.
func (x *examined) reservesNothing(from int, most float64) bool {
	v := stat.Known(x.judged.cols[record.ColReserved][min(from, len(x.judged.cols[record.ColReserved])):])
	n := int(headAndTail * float64(len(v)))
	if n < leastHeapReadings {
		return false
	}
	return stat.Quantile(v[len(v)-n:], 0)-stat.Quantile(v[:n], 0) <= most
}

// heapBeyondTouched is what the heap hands out when the growth begins, and how much of it
// is not in memory by then; ok is false where it was not read early and late in the
// growth, or hands out more by the end than so much.
func (x *examined) heapBeyondTouched(from int, most float64) (heap, untouched float64, ok bool) {
	clock, read, held := x.judged.clock, x.judged.cols[heapAsRead], x.judged.series[keyHost]
	first, last := -1, -1
	for i := from; i < len(read); i++ {
		if read[i] == read[i] && held[i] == held[i] {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 || len(clock) == 0 {
		return 0, 0, false
	}
	span := clock[len(clock)-1] - clock[from]
	if clock[first]-clock[from] > heapKnownBy*span || clock[len(clock)-1]-clock[last] > heapKnownBy*span {
		return 0, 0, false
	}
	heap = read[first]
	return heap, math.Max(heap-held[first], 0), read[last]-heap <= most
}
