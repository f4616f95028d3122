package tracer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// maxLag is how late an agent's samples may be read, so that reading them does
// not wake us for each. Rows are then stamped with the agent's time, and their
// values of the host are younger by as much.
const maxLag = 20 * time.Millisecond

// readLag is the lag for an interval: so short that an agent that samples once
// an interval is not taken for silent.
func readLag(interval time.Duration) time.Duration {
	if interval < maxLag {
		return 0 // then we are awake all the time
	}
	return min(interval*2/5, maxLag)
}

// connected is one agent.
type connected struct {
	conn    *agent.Conn
	offers  []string
	dones   chan agent.Done
	turn    sync.Mutex // held while an action is asked for and answered
	gone    chan struct{}
	exiting sync.Once
	isOver  bool // its program said that it ends
}

// offersAction reports whether the agent does an action.
func (c *connected) offersAction(action string) bool { return slices.Contains(c.offers, action) }

// listener is the recording as the agents' server sees it.
type listener struct {
	r         *recording
	concludes *sync.WaitGroup
}

// Message takes one line of an agent.
func (l listener) Message(conn *agent.Conn, m *agent.Message) {
	l.r.guard(func() { l.message(conn, m) })
}

func (l listener) message(conn *agent.Conn, m *agent.Message) {
	r := l.r
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.agents[conn]
	if c == nil {
		c = &connected{conn: conn, dones: make(chan agent.Done, 16), gone: make(chan struct{})}
		r.agents[conn] = c
	}
	if m.Hello != nil && m.Hello.Refused != "" {
		c.isOver = true
		r.refusedLocked(conn.PID(), m.Hello.Refused)
		return
	}
	if m.Hello != nil {
		c.offers = slices.Clone(m.Hello.Actions)
		l.hello(m.Hello)
	}
	f := r.follow(conn.PID())
	if m.Hello != nil {
		r.heard[f.pid], f.cutAt = true, 0
		r.entered.heard(f.pid == r.main)
		l.introduceByAgent(f, m.Hello)
	}
	if m.Sample != nil {
		l.sample(f, m.Sample, now)
	}
	if m.Mark != nil {
		l.mark(f, m.Mark, now)
		if m.Mark.Kind == record.KindOOM {
			l.outOfMemory(c, f, m.Mark, now)
		}
		if m.Mark.Kind == record.KindPhase && m.Mark.Name == agent.PhaseExiting {
			c.isOver = true
			c.exiting.Do(func() { l.concludes.Go(func() { r.guard(func() { r.conclude(c, f) }) }) })
		}
	}
	if m.Done != nil {
		select {
		case c.dones <- *m.Done:
		default: // answers that nobody asked for
		}
	}
}

// Gone takes the end of a connection.
func (l listener) Gone(conn *agent.Conn, err error) {
	l.r.guard(func() { l.disconnected(conn, err) })
}

func (l listener) disconnected(conn *agent.Conn, err error) {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	c, f := l.r.agents[conn], l.r.procs[conn.PID()]
	if c != nil {
		close(c.gone)
		delete(l.r.agents, conn)
	}
	if f != nil {
		f.agentAt = 0 // the timer takes over
		if c != nil && !c.isOver && err == nil {
			f.cutAt = l.r.clock.Now()
		}
	}
	if err != nil {
		l.r.warnLocked(err.Error())
	}
}

// Refused takes the end of a connection that was none.
func (l listener) Refused(err error) { l.r.guard(func() { l.r.warn(err.Error()) }) }

func (r *recording) hasAgent(pid int) bool {
	for conn := range r.agents {
		if conn.PID() == pid {
			return true
		}
	}
	return false
}

// hello takes what an agent says of its program into run.json. What is there
// already, from the caller or an earlier agent, stays. The lock is held.
func (l listener) hello(h *agent.Hello) {
	r := l.r
	err := r.out.UpdateMeta(func(m *record.Meta) {
		if m.Device == "" {
			m.Device = h.Device
		}
		if m.Driver == "" {
			m.Driver = h.Driver
		}
		if m.UnifiedMemory == nil {
			m.UnifiedMemory = h.UnifiedMemory
		}
		if h.CapacityBytes > 0 && m.CapacityBytes[record.LimitDevice] == 0 {
			m.CapacityBytes = maps.Clone(m.CapacityBytes)
			if m.CapacityBytes == nil {
				m.CapacityBytes = map[string]int64{}
			}
			m.CapacityBytes[record.LimitDevice] = h.CapacityBytes
		}
		versions := maps.Clone(h.Versions)
		if versions == nil {
			versions = map[string]string{}
		}
		maps.Copy(versions, m.Versions)
		if len(versions) <= 64 { // an agent may name any number
			m.Versions = versions
		}
	})
	if err != nil {
		r.warnLocked(fmt.Sprintf("run.json lags behind: %v", err))
	}
}

// agentTime is the time of an agent's message on the recording's clock. A time
// that cannot be is replaced by the arrival. The lock is held.
func (r *recording) agentTime(t, now int64) int64 {
	if t == 0 {
		return now
	}
	if t < r.start || t > now+int64(time.Millisecond) {
		r.warnLocked("an agent's t_ns is not of CLOCK_MONOTONIC: the time of arrival is taken")
		return now
	}
	return min(t, now)
}

// sample writes the row that an agent's sample leads to. The lock is held.
func (l listener) sample(f *followed, s *agent.Sample, now int64) {
	r := l.r
	for _, cell := range s.Cells {
		switch cell.Column {
		case record.ColStep:
			l.newStep(f, cell.Value, r.agentTime(s.TNs, now), "")
		case record.ColDropped:
			f.dropped = cell.Value
		case record.ColGPU:
			f.gpu = cell.Value
		}
	}
	at := r.agentTime(s.TNs, now)
	if !r.sampler.Late(at+r.beat.slack(), now) {
		f.agentAt = now
	}
	if !f.rate.take(now) && !f.marked {
		r.skipped++
		return
	}
	f.marked = false
	r.row(f, at, s.Cells)
}

// mark writes the event of a mark, and a row when the mark is one that
// the judgement needs memory at. The lock is held.
func (l listener) mark(f *followed, m *agent.Mark, now int64) {
	r := l.r
	at := r.agentTime(m.TNs, now)
	if m.Kind != record.KindStep { // a step has a row of its own
		f.calm.Stir(now)
		r.beat.hurry()
	}
	switch m.Kind {
	case record.KindStep:
		l.newStep(f, m.Step, at, m.At)
	case record.KindPhase:
		r.phase, f.marked = clipTo(m.Name, maxName), true
		f.ps.SplitNext()
		r.markLocked(&r.phases, l.markEvent(f, m, at), now)
	case record.KindWarning:
		r.warnLocked(clip(m.Name))
		return
	case record.KindSites, record.KindHolders, record.KindHostSites, record.KindBlockSites:
		r.listLocked(f, m.Kind, m.Detail, at)
		return
	case record.KindOOM, record.KindDied, record.KindWindow, record.KindComposition, record.KindGenerations:
		l.largeMark(f, m, at, now)
		l.diedOf(f, m, at)
		return
	default:
		budget := &r.marks
		if sumsUp(m) {
			budget = &r.phases
		}
		r.markLocked(budget, l.markEvent(f, m, at), now)
		return
	}
	// An agent that samples with its marks sends that sample next; its row
	// differs from this one by microseconds.
	if !f.rate.take(now) {
		r.skipped++
		return
	}
	r.row(f, at, nil)
}

// sumsUp reports a mark that tells of the whole run, as the rank of its statements: it
// comes after so many others that nothing may be left for it.
func sumsUp(m *agent.Mark) bool {
	switch m.Kind {
	case record.KindClones:
		return true
	case record.KindStatement:
		return len(m.Detail) > 0
	case record.KindEvent:
		return strings.HasPrefix(m.Name, record.EventHazards)
	}
	return false
}

func (l listener) markEvent(f *followed, m *agent.Mark, at int64) record.Event {
	r := l.r
	if max(len(m.Kind), len(m.Name), len(m.At)) > maxName || len(m.Detail) > maxDetail {
		r.cut++
	}
	return record.Event{
		TMs: r.millis(at), PID: f.pid, Kind: clipTo(m.Kind, maxName), Name: clipTo(m.Name, maxName),
		At: clipTo(m.At, maxName), Step: m.Step, Detail: clipDetail(m.Detail, maxDetail),
	}
}

// markLocked writes an agent's event if the budget allows. The lock is held.
func (r *recording) markLocked(budget *markBudget, e record.Event, now int64) {
	if budget.take(now, eventFrame+len(e.Kind)+len(e.Name)+len(e.At)+len(e.Detail)) {
		r.eventLocked(e)
	}
}

// tellSurplus warns of what the budgets kept out. The lock is held.
func (r *recording) tellSurplus() {
	if n := r.marks.surplus + r.phases.surplus + r.lists.surplus + r.large.surplus; n > 0 {
		r.warnLocked(
			fmt.Sprintf("%d marks over %d or %d MiB a second, or %d or %d MiB in %d hours, are not recorded",
				n, marksPerSecond, markBytesPerSecond>>20, maxMarks, maxMarkBytes>>20, markRefill/time.Hour))
	}
	if r.cut > 0 {
		r.warnLocked(fmt.Sprintf("%d marks are cut: a name has at most %d bytes, a detail %d", r.cut,
			maxName, maxDetail))
	}
}

// newStep takes a process's step; of those that are new some become events.
// The lock is held.
func (l listener) newStep(f *followed, step, at int64, where string) {
	r := l.r
	if f.stepped && f.step == step {
		return
	}
	f.step, f.stepped = step, true
	f.steps++
	if stepWorthEvent(f.steps) {
		r.eventLocked(record.Event{TMs: r.millis(at), PID: f.pid, Kind: record.KindStep, Step: step,
			At: clipTo(where, maxName)})
	}
}

// agentDropped is how many lines the agents could not send. The lock is held.
func (r *recording) agentDropped() int64 {
	n := r.droppedGone
	for _, f := range r.procs {
		n += f.dropped
	}
	return n
}
