package metrics

import (
	"slices"
	"strings"
	"sync"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// BookOptions are what a Book needs to know. The zero value is right for a run
// that ends. The functions are called from any goroutine.
type BookOptions struct {
	// Judging is passed on to the engine.
	Judging verdict.Options
	// Online is for programs without an end: a verdict.Monitor says which of
	// them grow, because it bounds false alarms. Else the engine judges each
	// process by all its rows, as it does at the end of a run.
	Online bool
	// Complete says that each row has all columns that are known; else a value
	// holds for a while, because some columns are read less often.
	Complete bool
	// NameOf is what a person calls a process, asked once for each; nil knows
	// nobody.
	NameOf func(pid int) string
	// Limits are what growth runs into on a device, beside those of the run.
	Limits []Limit
	// LostLines counts lines that could not be printed; nil prints none.
	LostLines func() uint64
}

// Limit is a memory of each device that growth can fill.
type Limit struct {
	Name string
	// Column holds what a process has of it, by device ("gpu_bytes@1"); without
	// a device it is device 0's.
	Column string
	// Device is how much a device has of it and how much everybody uses, in
	// bytes; ok is false when that is not known.
	Device func(device int) (capacity, used int64, ok bool)
}

// Book keeps the latest row of each process, judges them, and is a Source.
// What it keeps of a process is bounded. Its methods are safe for concurrent
// use, but for Judge and Finish, which are for one goroutine.
type Book struct {
	o BookOptions

	mu      sync.Mutex
	meta    record.Meta
	events  []record.Event
	procs   map[int]*entry
	rows    uint64
	missed  uint64
	pending []pendingRow // for the monitor
	gone    []int        // for the monitor, too

	monitor *verdict.Monitor // nil when not online
}

// entry is one process.
type entry struct {
	pid             int
	name            string
	dead            bool
	latest          map[string]value
	past            record.Thinned
	seen            int // rows
	firstMs, lastMs float64

	judgedAt int     // rows when it was judged last
	nextMs   float64 // when it is judged again
	judged   *verdict.Verdict
	verdict  *verdict.Verdict // to be published
}

type value struct {
	v   int64
	tMs float64
}

type pendingRow struct {
	pid   int
	tMs   float64
	cells []record.Cell
}

// Bounds of what a Book keeps.
const (
	mostPending = 20_000
	mostEvents  = 10_000
	mostName    = 100 // bytes of a label
	// A column that the rows of a process lack for this long, in ms and in
	// intervals, is not known any more. Some are read with every fourth row only.
	oldMs        = 5000
	oldIntervals = 10
)

// NewBook makes a Book that knows no process yet.
func NewBook(o BookOptions) *Book {
	b := &Book{o: o, procs: map[int]*entry{}}
	if o.Online {
		b.monitor = verdict.NewMonitor(o.Judging)
	}
	return b
}

// SetMeta takes what is known of the run or the machine: the interval, limits,
// whether memory is unified.
func (b *Book) SetMeta(m record.Meta) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.meta = m
}

// Row takes one sample of a process, tMs milliseconds on a clock that all rows
// share. It does not keep cells.
func (b *Book) Row(pid int, tMs float64, cells []record.Cell) {
	b.introduce(pid)
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(pid)
	if e.seen == 0 {
		e.firstMs = tMs
	} else {
		b.countMissed(e, tMs)
	}
	b.rows++
	e.seen++
	e.dead = false
	e.past.Add(tMs, cells)
	e.take(tMs, cells)
	if b.monitor != nil && len(b.pending) < mostPending {
		b.pending = append(b.pending, pendingRow{pid, tMs, slices.Clone(cells)})
	}
}

// countMissed counts the rows that should have come since the last one: a gap
// of two intervals and a half and more. The lock is held.
func (b *Book) countMissed(e *entry, tMs float64) {
	if n := (tMs - e.lastMs) / b.meta.IntervalMs; b.meta.IntervalMs > 0 && n >= 2.5 {
		b.missed += uint64(n) - 1
	}
}

// introduce asks for the name of a process that is new.
func (b *Book) introduce(pid int) {
	b.mu.Lock()
	known := b.procs[pid] != nil
	b.mu.Unlock()
	if !known && b.o.NameOf != nil {
		b.Name(pid, b.o.NameOf(pid)) // may take its time
	}
}

// entry is a process, made when new. The lock is held.
func (b *Book) entry(pid int) *entry {
	e := b.procs[pid]
	if e == nil {
		e = &entry{pid: pid, latest: map[string]value{}, past: record.NewThinned(mostRows)}
		b.procs[pid] = e
	}
	return e
}

// take keeps the latest values.
func (e *entry) take(tMs float64, cells []record.Cell) {
	e.lastMs = max(e.lastMs, tMs)
	for _, c := range cells {
		e.latest[c.Column] = value{c.Value, tMs}
	}
}

// Name gives a process a name.
func (b *Book) Name(pid int, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entry(pid).name = label(name)
}

// Dead takes what is still held for a process that is no more. It is published
// until Forget, and not judged.
func (b *Book) Dead(pid int, tMs float64, cells []record.Cell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.entry(pid)
	e.dead = true
	e.take(tMs, cells)
}

// Event takes an event of the run.
func (b *Book) Event(e record.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.events) < mostEvents {
		b.events = append(b.events, e)
	}
}

// Forget drops a process.
func (b *Book) Forget(pid int) { b.Keep(func(p int, _ float64) bool { return p != pid }) }

// Keep drops the processes for which keep is false, told by their pid and the
// time of their last row.
func (b *Book) Keep(keep func(pid int, lastMs float64) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for pid, e := range b.procs {
		if keep(pid, e.lastMs) {
			continue
		}
		delete(b.procs, pid)
		if b.monitor != nil {
			b.gone = append(b.gone, pid)
		}
	}
}

// Processes implements Source.
func (b *Book) Processes() []Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Process
	old := max(oldMs, oldIntervals*b.meta.IntervalMs)
	if b.o.Complete {
		old = 0
	}
	for _, e := range b.procs {
		now := map[string]int64{}
		for name, v := range e.latest {
			if e.lastMs-v.tMs <= old {
				now[name] = v.v
			}
		}
		for _, p := range accounts(now, b.unified()) {
			p.PID, p.Name, p.Dead, p.Verdict = e.pid, e.name, e.dead, e.verdict
			out = append(out, p)
		}
	}
	return out
}

// unified reports whether GPU bytes are host memory. The lock is held.
func (b *Book) unified() bool {
	switch b.o.Judging.Unified {
	case account.UnifiedYes:
		return true
	case account.UnifiedNo:
		return false
	}
	return b.meta.UnifiedMemory != nil && *b.meta.UnifiedMemory
}

// Sampling implements Source.
func (b *Book) Sampling() Sampling {
	b.mu.Lock()
	s := Sampling{Samples: b.rows}
	if b.meta.IntervalMs > 0 {
		missed := b.missed
		s.Missed = &missed
	}
	b.mu.Unlock()
	if b.o.LostLines != nil {
		lost := b.o.LostLines()
		s.LostLines = &lost
	}
	return s
}

// label is text fit to be a label's value.
func label(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) > mostName {
		text = strings.ToValidUTF8(text[:mostName], "")
	}
	return text
}
