package tracer

import (
	"slices"
	"time"

	"github.com/gpumem/gpumem/probe/procfs"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// leftBound is how long processes may take to end after the program: helpers end
	// when their pipe to it closes.
	leftBound = 500 * time.Millisecond
	leftPoll  = 20 * time.Millisecond
	// leftLeast is the host memory, in bytes, from which a process that outlives the
	// program is told. One that holds device memory is told in any case.
	leftLeast = 16 << 20
)

// tellLeft writes which processes outlive the program and hold memory. It waits for
// those that are about to end. The program has ended.
func (s *attempt) tellLeft() {
	s.followStrays()
	for deadline := time.Now().Add(leftBound); ; time.Sleep(leftPoll) {
		s.scanTree()
		s.poll()
		last := !time.Now().Before(deadline)
		if s.leftNow(last) == 0 || last {
			return
		}
	}
}

// leftNow is how many processes outlive the program and hold memory; with tell they
// are written down.
func (s *attempt) leftNow(tell bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, pid := range s.pidsLocked() {
		f := s.procs[pid]
		if pid == s.main || !f.ps.Alive() {
			continue
		}
		s.row(f, s.clock.Now(), nil)
		if !f.ps.Alive() || !f.holdsMemory() {
			continue
		}
		if n++; tell {
			s.eventLocked(record.Event{TMs: s.millis(s.clock.Now()), PID: pid, Kind: record.KindLeft,
				Name: f.is.name})
		}
	}
	return n
}

// holdsMemory reports whether a process holds device memory, or more than a little of
// the host's, by its last row.
func (f *followed) holdsMemory() bool {
	m := f.ps.Memory()
	if f.gpu > 0 || max(m.Footprint, m.RSS-max(m.File, 0)) >= leftLeast {
		return true
	}
	return slices.ContainsFunc(f.more, func(c record.Cell) bool {
		return c.Column == record.ColDriverAllocBytes && c.Value > 0
	})
}

// followStrays follows the processes that have this run's socket in their environment
// and are no descendants by now: their parent ended before they were seen.
func (s *attempt) followStrays() {
	pids, err := procfs.Dir("").PIDs(nil)
	if err != nil || s.server == nil {
		return // a system without /proc, on which the descendants that are known must do
	}
	for _, pid := range pids {
		if s.isOurs(pid) {
			s.mu.Lock()
			s.follow(pid)
			s.mu.Unlock()
		}
	}
}

// isOurs reports whether a process has this run's socket in its environment: whoever its
// parents are by now, the program or a child of it started it.
func (s *attempt) isOurs(pid int) bool {
	return s.server != nil && slices.Contains(environment(pid), agent.EnvSocket+"="+s.server.Path())
}
