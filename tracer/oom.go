package tracer

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// othersBound is how long the drivers may take to tell who else holds memory.
	othersBound = time.Second
	// maxOthers bounds the other processes that one event tells.
	maxOthers = 20
	// maxAskOthers bounds the errors of a run at which the drivers are asked.
	maxAskOthers = 20
)

// largeMark writes a mark whose detail may be long. The lock is held.
func (l listener) largeMark(f *followed, m *agent.Mark, at, now int64) {
	r := l.r
	if len(m.Detail) > maxLarge {
		r.cut++
	}
	r.markLocked(&r.large, record.Event{
		TMs: r.millis(at), PID: f.pid, Kind: m.Kind, Name: clipTo(m.Name, maxName),
		At: clipTo(m.At, maxName), Step: m.Step, Detail: clipDetail(m.Detail, maxLarge),
	}, now)
}

// outOfMemory answers a program that ran out of memory and waits for the word that
// this is written, and asks who else holds memory on the devices. The lock is held.
func (l listener) outOfMemory(c *connected, f *followed, m *agent.Mark, now int64) {
	r := l.r
	if err := c.conn.Kept(m.TNs); err != nil && !isOver(c.gone) {
		r.warnLocked(err.Error())
	}
	if !l.asksOthers() {
		return
	}
	f.askedOthers = true
	at := r.agentTime(m.TNs, now)
	l.concludes.Go(func() { r.guard(func() { l.tellOthers(f.pid, at) }) })
}

// diedOf asks who else holds memory on the devices where an exception that ended a program tells of none: not
// each comes of an allocator that told of it before. The lock is held.
func (l listener) diedOf(f *followed, m *agent.Mark, at int64) {
	var d record.Died
	if m.Kind != record.KindDied || f.askedOthers || json.Unmarshal(m.Detail, &d) != nil {
		return
	}
	if !d.OfMemory(m.Name) || !l.asksOthers() {
		return
	}
	r := l.r
	l.concludes.Go(func() { r.guard(func() { l.tellOthers(f.pid, at) }) })
}

// asksOthers counts an error, and says whether the drivers are asked who else holds
// memory. The lock is held.
func (l listener) asksOthers() bool {
	r := l.r
	r.ooms++
	return r.cfg.Charges != nil && r.ooms <= maxAskOthers
}

// tellOthers writes what the devices hold for processes that are not of this run.
func (l listener) tellOthers(pid int, at int64) {
	r := l.r
	ctx, cancel := context.WithTimeout(context.Background(), othersBound)
	defer cancel()
	charges := r.cfg.Charges(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	var told []record.HeldBy
	for _, c := range charges {
		if c.Bytes() == probe.Unknown || c.Bytes() == 0 {
			continue
		}
		_, own := r.procs[c.PID]
		told = append(told, record.HeldBy{PID: c.PID, Device: c.Device, Bytes: c.Bytes(), Own: own,
			Name: nameOf(c.PID)})
	}
	slices.SortStableFunc(told, func(a, b record.HeldBy) int { return cmp.Compare(b.Bytes, a.Bytes) })
	detail, err := json.Marshal(record.Others{Processes: told[:min(len(told), maxOthers)]})
	if err != nil {
		return
	}
	r.eventLocked(record.Event{TMs: r.millis(at), PID: pid, Kind: record.KindOOMOthers, Detail: detail})
}

// nameOf is what the command of a process is called, empty where that is not told.
func nameOf(pid int) string {
	command := commandLine(pid)
	if len(command) == 0 {
		return ""
	}
	return clipTo(command[0], 200)
}

// tellKill writes that the kernel killed the program for want of memory: it was
// killed, and such kills in its control group have become more. Of a process of its own
// that went with it that is told in its place. The lock is held.
func (s *attempt) tellKill(e ending) {
	for _, pid := range s.pidsLocked() {
		if f := s.procs[pid]; pid != s.main && f.isGone() {
			s.kill.tell(s.recording, f)
		}
	}
	const codeKilled = 128 + 9 // as shells pass it on
	if e.signal != "SIGKILL" && e.code != codeKilled || s.kill.count < 0 || s.kill.told > 0 {
		return
	}
	if s.kill.look(s.clock.Now(), true); s.kill.open > 0 {
		s.eventLocked(record.Event{TMs: s.millis(s.clock.Now()), PID: s.main, Kind: record.KindEvent,
			Name: record.EventKilled, Text: "the kernel killed the program because host memory ran out"})
	}
}
