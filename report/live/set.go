package live

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Judges says who judges the processes of a Set.
type Judges int

// Who judges.
const (
	// Each has the engine judge each process by all its rows, as at the end of a
	// run.
	Each Judges = iota
	// Few has the engine judge each of a few processes. Once there were more than
	// FewProcesses, it judges the chosen one, and the Monitor raises alarms of the
	// others.
	Few
	// Online has the Monitor say which processes grow; the engine says how fast.
	Online
	// Alarms has the Monitor alone.
	Alarms
)

// FewProcesses is how many processes are judged each.
const FewProcesses = 8

const (
	// silentMs is how long others may have had rows since a process's last one,
	// before it counts as ended; so do three intervals.
	silentMs        = 5000
	silentIntervals = 3
	// missedFrom is the gap between two rows, in intervals, from which rows are
	// missing.
	missedFrom = 2.5
	// mostPending bounds the rows on their way to the Monitor.
	mostPending = 20_000
)

// Options say what a Set is for. The functions are called with Lock held, unless
// said.
type Options struct {
	Lock    sync.Locker
	Judging verdict.Options // passed on to the engine
	Judges  Judges
	// Rows bounds the rows that are kept of a process that comes when n others are
	// there.
	Rows func(n int) int
	// KeepEnded is how many processes that have ended stay; 0 leaves it to Forget.
	KeepEnded int
	// Pending bounds the rows on their way to the Monitor; 0 is 20,000.
	Pending int
	// Share is the part of a core, one in so many, that Judge may take; 0 is 50.
	Share int
	// Most is how many processes a look of Judge judges beside the chosen one, so
	// that this one is not kept waiting; 0 is all that are due.
	Most int
	// NameOf is what a process that comes is called; nil knows nobody.
	NameOf func(pid int) string
	// Chosen is the process that somebody looks at, nil is none.
	Chosen func() *Process
	// Judged hears of each verdict of the engine, and what it took.
	Judged func(cost time.Duration)
	// Amend adds to a verdict of the engine what it does not know; samples are those
	// that it was reached from. It is called without the lock.
	Amend func(samples *record.Samples, v *verdict.Verdict)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Set is a set of processes.
type Set struct {
	o       Options
	meta    record.Meta
	procs   map[int]*Process
	order   []int
	log     log
	elapsed float64 // time of the latest row or event
	ended   bool
	rows    uint64
	missed  uint64
	many    bool // there were more than a few
	pending []pendingRow
	gone    []int            // for the Monitor
	monitor *verdict.Monitor // the goroutine that judges has it alone
}

// NewSet makes an empty Set.
func NewSet(o Options) *Set {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Share == 0 {
		o.Share = 50
	}
	if o.Pending == 0 {
		o.Pending = mostPending
	}
	s := &Set{o: o}
	s.Reset()
	return s
}

// Reset forgets all rows and events, to play them anew.
func (s *Set) Reset() {
	s.procs, s.order, s.log = map[int]*Process{}, nil, log{}
	s.elapsed, s.ended, s.rows, s.missed, s.many, s.pending, s.gone = 0, false, 0, 0, false, nil, nil
	s.monitor = verdict.NewMonitor(s.o.Judging)
}

// SetMeta takes what is known of the run or the machine. Rows without a pid, which
// came under 0, are from now on of the traced program.
func (s *Set) SetMeta(m record.Meta) {
	s.meta = m
	if main := s.procs[0]; main != nil && m.PID != 0 && s.procs[m.PID] == nil {
		delete(s.procs, 0)
		main.PID = m.PID
		s.procs[m.PID] = main
		s.order = slices.DeleteFunc(s.order, func(p int) bool { return p == 0 })
		s.insert(m.PID)
	}
}

// Meta is what SetMeta took last.
func (s *Set) Meta() *record.Meta { return &s.meta }

// Unified reports whether GPU bytes are host memory.
func (s *Set) Unified() bool {
	switch s.o.Judging.Unified {
	case account.UnifiedYes:
		return true
	case account.UnifiedNo:
		return false
	}
	return s.meta.UnifiedMemory != nil && *s.meta.UnifiedMemory
}

// Row takes one sample of a process, tMs milliseconds on a clock that all rows
// share, and returns the process; pid 0 is the traced program. A time that goes back
// is taken for the process's last. It does not keep cells.
func (s *Set) Row(pid int, tMs float64, cells []record.Cell) *Process {
	p := s.Process(pid)
	s.countMissed(p, tMs)
	tMs = p.take(tMs, cells)
	if p.Count++; p.Count == 1 {
		p.FirstMs = tMs
	}
	p.Dead = false
	p.rows.Add(tMs, cells)
	s.rows++
	s.elapsed = math.Max(s.elapsed, tMs)
	s.many = s.many || len(s.order) > FewProcesses
	if s.watched() && len(s.pending) < s.o.Pending {
		s.pending = append(s.pending, pendingRow{pid: p.PID, tMs: tMs, cells: slices.Clone(cells)})
	}
	return p
}

// Round says that each process has had its row: the Monitor looks then, so that its
// answers depend on the rows only, not on when somebody judges.
func (s *Set) Round() {
	if s.watched() && len(s.pending) < s.o.Pending {
		s.pending = append(s.pending, pendingRow{round: true})
	}
}

// countMissed counts the rows that should have come since the last one.
func (s *Set) countMissed(p *Process, tMs float64) {
	n := (tMs - p.LastMs) / max(s.meta.IntervalMs, s.meta.CalmIntervalMs)
	if p.Count > 0 && s.meta.IntervalMs > 0 && n >= missedFrom {
		s.missed += uint64(n) - 1
	}
}

// Sampled is how many rows came, and how many should have come and did not; the
// latter is known when the interval is.
func (s *Set) Sampled() (rows, missed uint64, known bool) {
	return s.rows, s.missed, s.meta.IntervalMs > 0
}

// Process is the process of a pid, made when new; pid 0 is the traced program.
func (s *Set) Process(pid int) *Process {
	if pid == 0 {
		pid = s.meta.PID
	}
	p := s.procs[pid]
	if p == nil {
		s.expire()
		p = newProcess(pid, s.o.Rows(len(s.order)))
		if s.o.NameOf != nil && pid != 0 {
			p.Name = s.o.NameOf(pid)
		}
		s.procs[pid] = p
		s.insert(pid)
	}
	return p
}

// Of is the process of a pid, nil when it is not in the set.
func (s *Set) Of(pid int) *Process { return s.procs[pid] }

// All are the processes in order of pid. The caller must not change the set
// meanwhile.
func (s *Set) All() func(yield func(*Process) bool) {
	return func(yield func(*Process) bool) {
		for _, pid := range s.order {
			if !yield(s.procs[pid]) {
				return
			}
		}
	}
}

// Len is how many processes there are.
func (s *Set) Len() int { return len(s.order) }

// Dead takes what is still held for a process that is no more. It stays until Forget
// or its next row, and is not judged.
func (s *Set) Dead(pid int, tMs float64, cells []record.Cell) {
	p := s.Process(pid)
	p.Dead = true
	p.take(tMs, cells)
}

// Event takes an event of the run.
func (s *Set) Event(e record.Event) {
	s.elapsed = math.Max(s.elapsed, e.TMs)
	s.log.add(e)
}

// End says whether no more rows come: then the chosen process is judged by all of
// its rows.
func (s *Set) End(ended bool) { s.ended = ended }

// Ended reports whether a process has ended by a time of the run: somebody said so,
// or others had rows for long since its last. The traced program ends with the run.
func (s *Set) Ended(p *Process, nowMs float64) bool {
	quiet := math.Max(silentMs, silentIntervals*s.meta.IntervalMs)
	return p.Gone || p.PID != s.meta.PID && nowMs-p.LastMs > quiet
}

// expire forgets the processes that ended first, when too many have.
func (s *Set) expire() {
	if s.o.KeepEnded == 0 || len(s.order) <= s.o.KeepEnded {
		return
	}
	var ended []*Process
	for p := range s.All() {
		if s.Ended(p, s.elapsed) {
			ended = append(ended, p)
		}
	}
	slices.SortFunc(ended, func(a, b *Process) int {
		return cmp.Or(cmp.Compare(a.LastMs, b.LastMs), a.PID-b.PID)
	})
	for _, p := range ended[:max(len(ended)-s.o.KeepEnded, 0)] {
		s.Forget(p.PID)
	}
}

func (s *Set) insert(pid int) {
	i, _ := slices.BinarySearch(s.order, pid)
	s.order = slices.Insert(s.order, i, pid)
}

// Forget drops a process.
func (s *Set) Forget(pid int) {
	if s.procs[pid] == nil {
		return
	}
	delete(s.procs, pid)
	s.order = slices.DeleteFunc(s.order, func(p int) bool { return p == pid })
	if s.watched() {
		s.gone = append(s.gone, pid)
	}
}

// Keep drops the processes for which keep is false.
func (s *Set) Keep(keep func(*Process) bool) {
	for _, pid := range slices.Clone(s.order) {
		if !keep(s.procs[pid]) {
			s.Forget(pid)
		}
	}
}
