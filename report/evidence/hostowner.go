package evidence

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// The heap is called still only where it was read often enough, over most of the growth.
const (
	leastHeapReadings = 10
	leastHeapSpan     = .6 // of the growth's time, between the first reading and the last
)

// hostEvidence is by what the driver's host memory is told from the host's own, without
// the amounts that grow.
type hostEvidence struct {
	pinned   bool          // memory that the program asked to be pinned explains the growth
	touched  finding.Owner // whose code first touches the pages; unknown where nobody looked
	held     bool          // a container of the program's explains the growth
	device   bool          // something in the run shows a device or a driver
	counted  bool          // somebody counted the driver's handles
	records  growth.DriverRecords
	heapTold bool // somebody told how large the heap is
	heapRead bool // often enough to say that the heap stood still
	heap     *trend.Growth
	takes    float64 // the rise of the heap with what it keeps free
}

// hostEvidenceOf is that of a process.
func hostEvidenceOf(x *growth.Examined) hostEvidence {
	e := hostEvidence{pinned: IsPinned(x), touched: Toucher(&x.Process), held: isHeld(x), device: x.UsesDevice(),
		records:  x.Records,
		counted:  len(stat.Known(x.Judged.Cols[record.ColEvents])) > 0,
		heapTold: x.Judged.Series[series.Heap] != nil, heap: &x.Grow[series.Heap]}
	if e.heapTold && e.heap.Known {
		e.heapRead, e.takes = heapWasRead(x), heapTakes(x)
	}
	return e
}

// owner tells whose host growth is, of growing amounts: the host's own when the pinned
// memory that the program asked for explains it, or its heap that grows with it, or what
// that heap keeps free; the driver's when its records of handles explain it, or the heap
// is known not to grow.
func (e *hostEvidence) owner(a [series.Keys]float64) finding.Owner {
	if e.pinned {
		return finding.TheHost
	}
	if e.touched == finding.TheDriver && (e.held || e.copies(a)) {
		return finding.TheHost
	}
	if e.touched != finding.Unknown {
		return e.touched // also where a driver allocates from the program's heap
	}
	switch {
	case !e.device:
		return finding.TheHost
	case e.records.Hold(a[series.Host]):
		return finding.TheDriver
	case !e.heapRead:
		return finding.TheHost
	case max(a[series.Heap], e.takes) >= a[series.Host]/2:
		return finding.TheHost
	case e.heap.Amount() < a[series.Host]/2 && e.heap.Upper < a[series.Host]/2:
		return finding.TheDriver
	}
	return finding.TheHost
}

// isHeld reports whether a container of the program's without a bound got longer from look to look, by
// about as much as the host grew: what it has may have been copied from the device, which the driver does.
func isHeld(x *growth.Examined) bool {
	h := &x.Grow[series.Host]
	rate := h.Amount() / growth.SpanOf(x, h)
	return h.Growing() && slices.ContainsFunc(looks.HostCourses(&x.Process), func(c looks.Course) bool {
		last := &c.Looks[len(c.Looks)-1]
		part := last.Rate() / rate
		return len(c.Looks) >= twoLooks && c.Lengthens() && last.Holder.Bound == 0 &&
			part >= looks.LeastExplained && part <= looks.MostExplained
	})
}

// copies reports whether what the driver touches first may be the program's: results that
// it copies from the device to memory that the program just asked for. No handles come with
// it, of which a driver would keep records, and the heap grows, where anybody tells of one.
func (e *hostEvidence) copies(a [series.Keys]float64) bool {
	inHeap := !e.heapTold || e.heapRead && max(a[series.Heap], e.takes) >= a[series.Host]/2
	return inHeap && e.counted && a[series.Handles] == 0 && !e.records.Hold(a[series.Host])
}

// IsPinned reports whether what the program asked the driver to pin rose by half of what
// the host memory grew by, or more. The driver maps such memory, so that no heap and no first
// touch show it.
func IsPinned(x *growth.Examined) bool {
	h := x.Grow[series.Host]
	return h.Growing() && x.Judged.Rise(record.ColPinnedBytes, h.From) >= h.Amount()/2
}

// heapWasRead reports whether the heap was read often enough while the host grew to
// say that it stood still.
func heapWasRead(x *growth.Examined) bool {
	from := x.Grow[series.Host].From
	clock, n := x.Judged.Clock, 0
	first, last := math.NaN(), math.NaN()
	for i := from; i < len(clock); i++ {
		if v := x.Judged.Cols[series.HeapAsRead][i]; v == v {
			if n++; n == 1 {
				first = clock[i]
			}
			last = clock[i]
		}
	}
	return n >= leastHeapReadings && last-first >= leastHeapSpan*(clock[len(clock)-1]-clock[from])
}

// HeapKeeps is by how much the free bytes that the C heap keeps rose while the host
// grew; 0 where they did not, or nobody told.
func HeapKeeps(x *growth.Examined) float64 {
	return fittedRise(x, x.Judged.Cols[record.ColHostHeapFree])
}

// heapTakes is by how much the heap rose while the host grew, with what it keeps free;
// 0 where nobody told the latter.
func heapTakes(x *growth.Examined) float64 {
	free := x.Judged.Cols[record.ColHostHeapFree]
	if free == nil {
		return 0
	}
	return fittedRise(x, stat.Plus(x.Judged.Cols[series.HeapAsRead], free))
}

// fittedRise is by how much a line through a column rises while the host grows; 0
// where it falls, or too little is known.
func fittedRise(x *growth.Examined, v []float64) float64 {
	var t, y []float64
	clock := x.Judged.Clock
	from := x.Grow[series.Host].From
	for i := from; i < len(v); i++ {
		if v[i] == v[i] {
			t, y = append(t, clock[i]), append(y, v[i])
		}
	}
	if len(t) < leastHeapReadings {
		return 0
	}
	if b := stat.FitLine(t, y).B * (clock[len(clock)-1] - clock[from]); b > 0 {
		return b
	}
	return 0
}

// IsFragmented reports whether half of the host's growth, or more, is memory that the
// C heap keeps free.
func IsFragmented(x *growth.Examined) bool {
	h := &x.Grow[series.Host]
	return h.Growing() && HeapKeeps(x) >= h.Amount()/2
}
