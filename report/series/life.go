package series

import (
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// deviceColumns are those that only a program with a device has.
var deviceColumns = [...]string{
	record.ColGPU, record.ColLive, record.ColIdle, record.ColLiveCount, record.ColInFlight,
	record.ColCommandBuffers, record.ColCommandBuffersOpen, record.ColCommands, record.ColPipelines,
	record.ColDriverAllocBytes, record.ColDriverAllocCount, record.ColDriverAllocs, record.ColPinnedBytes,
	record.ColEvents, record.ColStreams, record.ColGraphs, record.ColModules, record.ColContexts,
}

// UsesDevice reports whether anything in the run shows a device or a driver: without
// one no growth is the driver's.
func (p *Process) UsesDevice() bool {
	if m := &p.Run.Meta; m.Driver != "" || m.Device != "" || m.CapacityBytes[record.LimitDevice] > 0 {
		return true
	}
	for _, c := range deviceColumns {
		if len(stat.Known(p.Whole.Cols[c])) > 0 {
			return true
		}
	}
	return false
}

// Lived is for how many seconds the process was seen.
func (p *Process) Lived() float64 {
	if n := len(p.Whole.Clock); n > 0 {
		return p.Whole.Clock[n-1] - p.Whole.Clock[0]
	}
	return 0
}

// End is when the process was seen last, in seconds.
func (p *Process) End() float64 {
	if n := len(p.Whole.Clock); n > 0 {
		return p.Whole.Clock[n-1]
	}
	return 0
}

// DeviceLived is for how many seconds the program has held memory of a device; 0 of one
// that has none yet. A worker that has none does not wait for one: it has lived for as
// long as it was seen.
func (p *Process) DeviceLived() float64 {
	w := p.Whole
	for i := range w.Clock {
		for _, c := range deviceColumns {
			if col := w.Cols[c]; col != nil && col[i] > 0 {
				return w.Clock[len(w.Clock)-1] - w.Clock[i]
			}
		}
	}
	if p.PID != 0 && p.PID != p.Run.Meta.PID {
		return p.Lived()
	}
	return 0
}

// DeviceBegan is when the device came to life, in seconds.
func (p *Process) DeviceBegan() float64 { return p.End() - p.DeviceLived() }

// LastSeen is when the process was seen for the last time, in seconds.
func (p *Process) LastSeen() float64 { return p.Whole.Clock[len(p.Whole.Clock)-1] }
