package tracer

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// killWatch finds out which processes of a run the kernel killed for want of memory:
// those that went while such kills in the control group became more. The group may have
// other programs: of what went, only a large process is one that the kernel chooses.
type killWatch struct {
	count   int64 // as last read; -1 is unknown
	open    int64 // kills that no process was found for
	risenAt int64 // when there was one more, on clock
	lookAt  int64 // when it is read next
	told    int   // processes
	limit   int64 // of the control group, else what the machine has; 0 is unknown
	read    func() (int64, bool)
}

const (
	betweenKills = int64(250 * time.Millisecond)
	// killLasts is how long a process may take to go after it was killed, and to be missed.
	killLasts = int64(3 * time.Second)
	// leastKilled is the part of what there is that a killed process held at least.
	leastKilled = 50
)

func newKillWatch(limits map[string]int64) killWatch {
	w := killWatch{count: -1, limit: limits[record.LimitCgroup],
		read: func() (int64, bool) { return oomKills(ownGroups, groupsRoot) }}
	if w.limit == 0 {
		w.limit = limits[record.LimitHost]
	}
	if n, ok := w.read(); ok {
		w.count = n
	}
	return w
}

// look reads the counter, at most as often as is worth it unless it must.
func (w *killWatch) look(now int64, must bool) {
	if w.count < 0 || !must && now < w.lookAt {
		return
	}
	w.lookAt = now + betweenKills
	if n, ok := w.read(); ok && n > w.count {
		w.open += n - w.count
		w.count, w.risenAt = n, now
	}
}

// claims says whether a process that has gone, and held so much, was killed.
func (w *killWatch) claims(held, now int64) bool {
	w.look(now, true)
	if w.open <= 0 || now-w.risenAt > killLasts || w.limit > 0 && held < w.limit/leastKilled {
		return false
	}
	w.open--
	w.told++
	return true
}

// tell writes that the kernel killed a process that has gone, if it did. The lock of r is
// held.
func (w *killWatch) tell(r *recording, f *followed) {
	if !w.claims(f.held, r.clock.Now()) {
		return
	}
	detail, err := json.Marshal(record.Killed{Name: f.is.name, Held: f.held})
	if err != nil {
		detail = nil
	}
	r.eventLocked(record.Event{TMs: r.millis(f.lastRow), PID: f.pid, Kind: record.KindEvent,
		Name: record.EventKilled, Detail: detail,
		Text: "the kernel killed the process because host memory ran out"})
}

// isGone says whether a process is no more, whatever its last row said.
func (f *followed) isGone() bool {
	p, err := probe.Open(f.pid)
	if err != nil {
		return errors.Is(err, probe.ErrExited)
	}
	defer p.Close()
	var m probe.Memory
	return p.Identity().Start != f.start || errors.Is(p.Read(&m), probe.ErrExited)
}
