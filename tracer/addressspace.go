package tracer

import (
	"encoding/json"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// addressSpace is what a process had at most of the address space that it may have.
type addressSpace struct {
	limit, peak int64 // limit is 0 without one
	lookAt      int64 // when it is looked at next, on clock
	wait        int64 // between looks for a limit
}

const (
	betweenSpaces = int64(50 * time.Millisecond) // where there is a limit
	// Where there is none it may come: a shell sets it before the program, or the program
	// itself. The longer there was none, the less often it is looked for.
	leastWait = int64(50 * time.Millisecond)
	mostWait  = int64(4 * time.Second)
)

// look reads anew, at most as often as is worth it.
func (a *addressSpace) look(pid int, now int64) {
	if now < a.lookAt {
		return
	}
	limit, peak := readAddressSpace("/proc", pid)
	a.wait = min(max(2*a.wait, leastWait), mostWait)
	a.lookAt = now + a.wait
	if limit == probe.Unknown || peak == probe.Unknown {
		return
	}
	a.limit, a.peak = limit, max(a.peak, peak)
	a.lookAt = now + betweenSpaces
}

// nearLimit says whether nine tenths were in use at some time.
func (a *addressSpace) nearLimit() bool { return a.limit > 0 && a.peak >= a.limit/10*9 }

// tellSpace writes how much of its address space a process has had, where that is
// limited: what is refused there no allocator tells. The lock of r is held.
func (f *followed) tellSpace(r *recording) {
	if f.space.limit <= 0 {
		return
	}
	detail, err := json.Marshal(record.AddressSpace{Limit: f.space.limit, Peak: f.space.peak})
	if err != nil {
		return
	}
	r.eventLocked(record.Event{TMs: r.millis(f.lastRow), PID: f.pid, Kind: record.KindEvent,
		Name: record.EventAddressSpace, Detail: detail})
}
