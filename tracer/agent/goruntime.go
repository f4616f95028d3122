package agent

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/gpumem/gpumem/tracer/record"
)

// heapRefresh is how old host_heap_bytes may be: reading the runtime's metrics
// costs more than the rest of a sample.
const heapRefresh = 10_000_000 // 10 ms in ns

// goHeap reads what the Go runtime holds.
type goHeap struct {
	samples []metrics.Sample
	at      int64
	bytes   int64
	known   bool
}

func newGoHeap() goHeap {
	return goHeap{samples: []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
	}}
}

// read refreshes the values.
func (h *goHeap) read() {
	metrics.Read(h.samples)
	h.known = true
	for _, s := range h.samples {
		h.known = h.known && s.Value.Kind() == metrics.KindUint64
	}
	if h.known {
		h.bytes = int64(h.samples[0].Value.Uint64() - h.samples[1].Value.Uint64())
	}
}

// append adds host_heap_bytes: everything the Go runtime has mapped and not
// given back (heap, stacks, its own tables), which is the part of the
// footprint that Go answers for. Memory mapped past the runtime, such as device
// buffers, and C memory are not in it.
func (h *goHeap) append(cells []record.Cell, now int64) []record.Cell {
	if !h.known || now-h.at >= heapRefresh {
		h.at = now
		h.read()
	}
	if !h.known {
		return cells
	}
	return append(cells, record.Cell{Column: record.ColHostHeap, Value: h.bytes})
}

// collectGo is the default action collect. It claims the bytes of the objects
// that went.
func collectGo() Done {
	h := newGoHeap()
	h.read()
	if !h.known {
		runtime.GC()
		return Done{}
	}
	before := int64(h.samples[2].Value.Uint64())
	// What finalizers release, goes with the second collection.
	runtime.GC()
	runtime.GC()
	h.read()
	claimed := max(before-int64(h.samples[2].Value.Uint64()), 0)
	return Done{ClaimedBytes: &claimed}
}

// trimGo is the default action trim. It claims the bytes newly released to the
// operating system.
func trimGo() Done {
	h := newGoHeap()
	h.read()
	if !h.known {
		debug.FreeOSMemory()
		return Done{}
	}
	before := h.bytes
	debug.FreeOSMemory()
	h.read()
	claimed := max(before-h.bytes, 0)
	return Done{ClaimedBytes: &claimed}
}
