package tracer

import (
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// before is what a process that ran already held when we came: what it had taken from
// the driver is known as a sum only.
type before struct {
	device int64 // what the driver charged it, probe.Unknown without
	// live and idle are its allocator's at the first word of its agent, when charged was
	// the driver's word; hasPool says that they are known.
	live, idle, charged int64
	hasPool             bool
}

// noteBefore takes note of what the program itself held at first. The lock is held.
func (r *recording) noteBefore(f *followed, told []record.Cell) {
	if r.before == nil {
		return
	}
	live, idle := cellOf(told, record.ColLive), cellOf(told, record.ColIdle)
	f.isPooled = f.isPooled || live != probe.Unknown
	b := r.before
	if f.pid != r.main || f.gpu == probe.Unknown {
		return
	}
	if b.device == probe.Unknown {
		b.device = f.gpu
	}
	if !b.hasPool && live != probe.Unknown && idle != probe.Unknown {
		b.live, b.idle, b.charged, b.hasPool = live, idle, f.gpu, true
	}
}

// tellBefore writes what the program held when we came.
func (s *attempt) tellBefore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.before
	if b == nil || b.device <= 0 {
		return
	}
	text := fmt.Sprintf("%d B of device memory were held when gpumem attached; whose they are is not known",
		b.device)
	if b.hasPool {
		// The allocator and the driver are not asked at one moment.
		rest := max(0, b.charged-b.live-b.idle)
		text = fmt.Sprintf("%d B of device memory were held when gpumem attached: "+
			"%d B by the program's pool, "+
			"%d B by others (the driver's context, libraries, code without a pool), known as a sum only",
			b.charged, b.charged-rest, rest)
	}
	s.eventLocked(record.Event{TMs: s.millis(s.clock.Now()), PID: s.main, Kind: record.KindEvent,
		Name: "before the attach", Text: text})
}

// captured are the cells of Config.Cells. Of a process that ran before, what it asked of
// the driver is known since then only. That is no account of the device beside a pool
// that is known from the beginning: a difference of the two would be below 0. The lock
// is held.
func (r *recording) captured(f *followed, gpuTold bool) []record.Cell {
	if r.before == nil || gpuTold || !f.isPooled {
		return f.more
	}
	return slices.DeleteFunc(slices.Clone(f.more), func(c record.Cell) bool {
		base, _, _ := record.SplitDevice(c.Column)
		return base == record.ColDriverAllocBytes
	})
}

// cellOf is the value of a column, probe.Unknown without one.
func cellOf(cells []record.Cell, column string) int64 {
	for _, c := range cells {
		if c.Column == column {
			return c.Value
		}
	}
	return probe.Unknown
}
