package metrics

import (
	"context"
	"strings"
	"sync"

	liveset "github.com/gpumem/gpumem/report/live"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// BookOptions are what a Book needs to know. The zero value is right for a run
// that ends. The functions are called from any goroutine, NameOf with the Book
// locked.
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

// Book is a live set of processes as a Source. What it keeps of a process is
// bounded. Its methods are safe for concurrent use, but for Judge and Finish, which
// are for one goroutine.
type Book struct {
	o BookOptions

	mu   sync.Mutex
	live *liveset.Set
}

// Bounds of what a Book keeps.
const (
	mostRows = 1024 // of a process
	mostName = 100  // bytes of a label
	// A column that the rows of a process lack for this long, in ms and in
	// intervals, is not known any more. Some are read with every fourth row only.
	oldMs        = 5000
	oldIntervals = 10
)

// NewBook makes a Book that knows no process yet.
func NewBook(o BookOptions) *Book {
	b := &Book{o: o}
	judges := liveset.Each
	if o.Online {
		judges = liveset.Online
	}
	b.live = liveset.NewSet(liveset.Options{
		Lock: &b.mu, Judging: o.Judging, Judges: judges, Rows: func(int) int {
			return mostRows
		}, NameOf: b.nameOf, Amend: b.amend,
	})
	return b
}

func (b *Book) nameOf(pid int) string {
	if b.o.NameOf == nil {
		return ""
	}
	return label(b.o.NameOf(pid))
}

// Judge looks at the processes until ctx is done.
func (b *Book) Judge(ctx context.Context) { b.live.Judge(ctx) }

// Finish judges all processes by all their rows, once Judge has returned.
func (b *Book) Finish() { b.live.Finish() }

// SetMeta takes what is known of the run or the machine: the interval, limits,
// whether memory is unified.
func (b *Book) SetMeta(m record.Meta) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.SetMeta(m)
}

// Row takes one sample of a process, tMs milliseconds on a clock that all rows
// share. It does not keep cells.
func (b *Book) Row(pid int, tMs float64, cells []record.Cell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Row(pid, tMs, cells)
}

// Round says that each process has had its row.
func (b *Book) Round() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Round()
}

// Name gives a process a name.
func (b *Book) Name(pid int, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Process(pid).Name = label(name)
}

// Dead takes what is still held for a process that is no more. It is published
// until Forget, and not judged.
func (b *Book) Dead(pid int, tMs float64, cells []record.Cell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Dead(pid, tMs, cells)
}

// Event takes an event of the run.
func (b *Book) Event(e record.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Event(e)
}

// Forget drops a process.
func (b *Book) Forget(pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Forget(pid)
}

// Keep drops the processes for which keep is false, told by their pid and the
// time of their last row.
func (b *Book) Keep(keep func(pid int, lastMs float64) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live.Keep(func(p *liveset.Process) bool { return keep(p.PID, p.LastMs) })
}

// Processes implements Source.
func (b *Book) Processes() []Process {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Process
	old := max(oldMs, oldIntervals*b.live.Meta().IntervalMs)
	if b.o.Complete {
		old = 0
	}
	for x := range b.live.All() {
		v := b.live.Verdict(x)
		for _, p := range accounts(x.Latest(old), b.live.Unified()) {
			p.PID, p.Name, p.Dead, p.Verdict = x.PID, x.Name, x.Dead, v
			out = append(out, p)
		}
	}
	return out
}

// Sampling implements Source.
func (b *Book) Sampling() Sampling {
	b.mu.Lock()
	rows, missed, known := b.live.Sampled()
	b.mu.Unlock()
	s := Sampling{Samples: rows}
	if known {
		s.Missed = &missed
	}
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
