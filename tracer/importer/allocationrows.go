package importer

import (
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// row writes the state of the books: one row an event, which counts as a step.
// Every device has its columns "@N" until the end, when a log of one device
// loses the suffix.
func (r *logReader) row() {
	r.rows.row()
	r.rows.set(record.ColStep, float64(r.rows.len()))
	r.rows.set(record.ColAllocs, r.allocs)
	r.rows.set(record.ColFrees, r.frees)
	for d, t := range r.devices {
		suffix := "@" + strconv.Itoa(d)
		r.put(record.ColLive+suffix, t.bytes)
		r.put(record.ColLiveCount+suffix, t.count)
		for column, bytes := range t.byMemory {
			r.put(column+suffix, bytes)
		}
		if t.hasCB {
			r.put(record.ColCircular+suffix, t.cb)
		}
		if t.hasKern {
			r.put(record.ColKernels+suffix, t.kernel)
		}
	}
}

func (r *logReader) put(column string, v float64) {
	r.rows.column(column)
	r.rows.set(column, v)
}

func (r *logReader) samples() {
	s := r.rows
	if len(r.devices) == 1 {
		for i, name := range s.names {
			s.names[i], _, _ = strings.Cut(name, "@")
		}
	}
	r.run.Samples = s.samples()
	if len(r.pids) == 1 {
		for pid := range r.pids {
			r.run.Meta.PID = max(pid, 0)
		}
	}
}

func (r *logReader) notes() {
	note(r.run, "the log has no times: one event counts as one step, and growth a second is unknown")
	note(r.run, "an allocation server knows what was allocated and freed: memory that a pool keeps counts as live, and the driver's is not seen")
	if r.unknown > 0 {
		note(r.run, "%d buffers were freed that the log never saw allocated", r.unknown)
	}
	if r.unkept > 0 {
		note(r.run, "%d allocations beyond %d live ones were not remembered", r.unkept, maxLoggedBuffers)
	}
	if r.err != nil {
		note(r.run, "reading stopped after line %d: %v", r.n, r.err)
	}
}
