package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// The heap is called still only where it was read often enough, over most of the growth.
const (
	leastHeapReadings = 10
	leastHeapSpan     = .6 // of the growth's time, between the first reading and the last
)

// deviceColumns are those that only a program with a device has.
var deviceColumns = [...]string{
	record.ColGPU, record.ColLive, record.ColIdle, record.ColLiveCount, record.ColInFlight,
	record.ColCommandBuffers, record.ColCommandBuffersOpen, record.ColCommands, record.ColPipelines,
	record.ColDriverAllocBytes, record.ColDriverAllocCount, record.ColDriverAllocs, record.ColPinnedBytes,
	record.ColEvents, record.ColStreams, record.ColGraphs, record.ColModules, record.ColContexts,
}

// usesDevice reports whether anything in the run shows a device or a driver: without
// one no growth is the driver's.
func (p *process) usesDevice() bool {
	if m := &p.run.Meta; m.Driver != "" || m.Device != "" || m.CapacityBytes[record.LimitDevice] > 0 {
		return true
	}
	for _, c := range deviceColumns {
		if len(stat.Known(p.whole.cols[c])) > 0 {
			return true
		}
	}
	return false
}

// hostEvidence is by what the driver's host memory is told from the host's own, without
// the amounts that grow.
type hostEvidence struct {
	pinned   bool  // memory that the program asked to be pinned explains the growth
	touched  owner // whose code first touches the pages; unknown where nobody looked
	device   bool  // something in the run shows a device or a driver
	counted  bool  // somebody counted the driver's handles
	records  driverRecords
	heapRead bool // often enough to say that the heap stood still
	heap     *trend.Growth
	takes    float64 // the rise of the heap with what it keeps free
}

// hostEvidence is that of a process.
func (x *examined) hostEvidence() hostEvidence {
	e := hostEvidence{pinned: x.isPinned(), touched: x.toucher(), device: x.usesDevice(), records: x.records,
		counted: len(stat.Known(x.judged.cols[record.ColEvents])) > 0, heap: &x.grow[keyHeap]}
	if x.judged.series[keyHeap] != nil && e.heap.Known {
		e.heapRead, e.takes = x.heapWasRead(), x.heapTakes()
	}
	return e
}

// owner tells whose host growth is, of growing amounts: the host's own when the pinned
// memory that the program asked for explains it, or its heap that grows with it, or what
// that heap keeps free; the driver's when its records of handles explain it, or the heap
// is known not to grow.
func (e *hostEvidence) owner(a [keys]float64) owner {
	if e.pinned {
		return theHost
	}
	if e.touched == theDriver && e.copies(a) {
		return theHost
	}
	if e.touched != unknown {
		return e.touched // also where a driver allocates from the program's heap
	}
	switch {
	case !e.device:
		return theHost
	case e.records.hold(a[keyHost]):
		return theDriver
	case !e.heapRead:
		return theHost
	case a[keyHeap] >= a[keyHost]/2 || e.takes >= a[keyHost]/2:
		return theHost
	case e.heap.Amount() < a[keyHost]/2 && e.heap.Upper < a[keyHost]/2:
		return theDriver
	}
	return theHost
}

// copies reports whether what the driver touches first may be the program's: results that
// it copies from the device to memory of the program's heap. The heap grows with it, and
// no handles do, of which a driver would keep records there.
func (e *hostEvidence) copies(a [keys]float64) bool {
	return e.heapRead && a[keyHeap] >= a[keyHost]/2 && e.counted && a[keyHandles] == 0 && !e.records.hold(a[keyHost])
}

// isPinned: what the program asked the driver to pin rose by half of what the
// host memory grew by, or more. The driver maps such memory, so that no heap
// and no first touch show it.
func (x *examined) isPinned() bool {
	h := x.grow[keyHost]
	return h.Growing() && x.judged.rise(record.ColPinnedBytes, h.From) >= h.Amount()/2
}

// heapWasRead reports whether the heap was read often enough while the host grew to
// say that it stood still.
func (x *examined) heapWasRead() bool {
	from := x.grow[keyHost].From
	clock, n := x.judged.clock, 0
	first, last := math.NaN(), math.NaN()
	for i := from; i < len(clock); i++ {
		if v := x.judged.cols[heapAsRead][i]; v == v {
			if n++; n == 1 {
				first = clock[i]
			}
			last = clock[i]
		}
	}
	return n >= leastHeapReadings && last-first >= leastHeapSpan*(clock[len(clock)-1]-clock[from])
}

// heapKeeps is by how much the free bytes that the C heap keeps rose while the host
// grew; 0 where they did not, or nobody told.
func (x *examined) heapKeeps() float64 {
	return x.fittedRise(x.judged.cols[record.ColHostHeapFree])
}

// heapTakes is by how much the heap rose while the host grew, with what it keeps free;
// 0 where nobody told the latter.
func (x *examined) heapTakes() float64 {
	free := x.judged.cols[record.ColHostHeapFree]
	if free == nil {
		return 0
	}
	return x.fittedRise(stat.Plus(x.judged.cols[heapAsRead], free))
}

// fittedRise is by how much a line through a column rises while the host grows; 0
// where it falls, or too little is known.
func (x *examined) fittedRise(v []float64) float64 {
	var t, y []float64
	clock := x.judged.clock
	from := x.grow[keyHost].From
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

// isFragmented reports whether half of the host's growth, or more, is memory that the
// C heap keeps free.
func (x *examined) isFragmented() bool {
	h := &x.grow[keyHost]
	return h.Growing() && x.heapKeeps() >= h.Amount()/2
}

// hostWords says whose host memory it is, or that it cannot be told.
func (s *settled) hostWords() string {
	if s.isPinned() {
		return ", most of it pinned memory that the program asked the driver for"
	}
	if s.class == HostGrowth && s.isFragmented() {
		return fmt.Sprintf("; the C heap keeps %s free between blocks in use (fragmentation)",
			units.Bytes(s.heapKeeps()))
	}
	if words := s.touchWords(); words != "" {
		return words
	}
	if s.class == DriverGrowth && s.records.hold(s.size) {
		return s.records.words(s.size)
	}
	switch {
	case s.class == DriverGrowth:
		return " while the program's heap does not"
	case !s.usesDevice() && !(s.grow[keyHeap].Growing() && s.grow[keyHeap].Amount() >= s.size/2):
		return ""
	case s.primary == keyHeap:
		return "" // its name says it
	case s.grow[keyHeap].Growing():
		return " with the program's heap"
	case s.judged.series[keyHeap] == nil:
		return " (host heap or driver, unresolved: the program's heap was not recorded)"
	}
	return " (host heap or driver, unresolved)"
}
