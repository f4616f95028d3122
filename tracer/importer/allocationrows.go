package importer

import (
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// logTotal are the live bytes of all devices, whose extremes stay.
const logTotal = hidden + "live"

// row writes the state of the books: one row an event, which counts as a step.
// Every device has its columns "@N" until the end, when a log of one device
// loses the suffix.
func (r *logReader) row() {
	r.rows.row()
	r.rows.set(record.ColStep, float64(r.rows.made))
	r.rows.set(record.ColAllocs, r.allocs)
	r.rows.set(record.ColFrees, r.frees)
	live := 0.
	for _, t := range r.totals {
		live += t.bytes.value
		for _, v := range t.list {
			r.rows.put(v.column, v.value)
		}
	}
	r.rows.set(logTotal, live)
}

func (r *logReader) samples() {
	s := r.rows
	if len(r.devices) == 1 {
		for i, name := range s.names {
			s.names[i], _, _ = strings.Cut(name, "@") // its samples are made next
		}
	}
	r.run.Samples = s.samples()
	if len(r.pids) == 1 {
		for pid := range r.pids {
			r.run.Meta.PID = max(pid, 0)
		}
	}
}

// strangeFrees is said of frees that the log does not explain.
const strangeFrees = "frees of buffers that were not allocated then, as when one is freed twice, or was " +
	"allocated before the log began: %d"

func (r *logReader) notes() {
	note(r.run, "the log has no times: one event counts as one step, and growth a second is unknown")
	note(r.run,
		"an allocation server knows what was allocated and freed: memory that a pool keeps counts as live, "+
			"and the driver's is not seen")
	if r.unknown > 0 {
		note(r.run, strangeFrees, r.unknown)
	}
	if r.unkept > 0 {
		note(r.run, "%d allocations beyond %d live ones were not remembered", r.unkept, maxLoggedBuffers)
	}
	r.rows.said(r.run)
	r.stopped()
}
