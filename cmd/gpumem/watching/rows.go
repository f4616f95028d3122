package watching

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/gpumem/gpumem/cmd/gpumem/publishing"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/metrics"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tui"
)

// taker takes what a watcher finds: the screen, the metrics, or both.
type taker interface {
	SetMeta(m record.Meta)
	Name(pid int, name string)
	Row(pid int, tMs float64, cells []record.Cell)
	// Round hears that each process has had its row.
	Round()
	Event(e record.Event)
	Gone(pid int)
	Forget(pid int)
	Fault(text string)
	// Held takes what drivers hold, at a time, for pids that are no process here.
	Held(tMs float64, list []scan.Elsewhere)
}

// screenRows is the screen as a taker.
type screenRows struct{ *tui.Feed }

// Held is not shown there.
func (screenRows) Held(float64, []scan.Elsewhere) {}

// takers are several.
type takers []taker

func (l takers) each(f func(taker)) {
	for _, t := range l {
		f(t)
	}
}

func (l takers) SetMeta(m record.Meta)  { l.each(func(t taker) { t.SetMeta(m) }) }
func (l takers) Name(pid int, n string) { l.each(func(t taker) { t.Name(pid, n) }) }
func (l takers) Round()                 { l.each(taker.Round) }
func (l takers) Event(e record.Event)   { l.each(func(t taker) { t.Event(e) }) }
func (l takers) Gone(pid int)           { l.each(func(t taker) { t.Gone(pid) }) }
func (l takers) Forget(pid int)         { l.each(func(t taker) { t.Forget(pid) }) }
func (l takers) Fault(text string)      { l.each(func(t taker) { t.Fault(text) }) }
func (l takers) Row(pid int, tMs float64, cells []record.Cell) {
	l.each(func(t taker) { t.Row(pid, tMs, cells) })
}
func (l takers) Held(tMs float64, list []scan.Elsewhere) {
	l.each(func(t taker) { t.Held(tMs, list) })
}

// book is the metrics as a taker.
type book struct {
	*metrics.Book
	sources  atomic.Pointer[scan.Sources]
	warnings io.Writer
	fault    string       // said last
	dead     map[int]bool // published for no process
}

func newBook(warnings io.Writer, judging verdict.Options) *book {
	b := &book{warnings: warnings, dead: map[int]bool{}}
	b.Book = metrics.NewBook(metrics.BookOptions{
		Judging: judging, Online: true, Complete: true,
		Limits: []metrics.Limit{{Name: record.LimitDevice, Column: record.ColGPU, Device: b.room}},
	})
	return b
}

// room is how much a device has, and how much of it is in use.
func (b *book) room(n int) (capacity, used int64, ok bool) {
	devices := devicesOf(context.Background(), b.sources.Load())
	if n >= len(devices) || devices[n].TotalBytes <= 0 || devices[n].UsedBytes == scan.Unknown {
		return 0, 0, false
	}
	return devices[n].TotalBytes, devices[n].UsedBytes, true
}

// Gone drops a process that has ended.
func (b *book) Gone(pid int) { b.Forget(pid) }

// Fault says once what fails.
func (b *book) Fault(text string) {
	if text != b.fault {
		fmt.Fprintf(b.warnings, "gpumem: warning: %s\n", text)
	}
	b.fault = text
}

// Held publishes what is held for processes that certainly are no more.
func (b *book) Held(tMs float64, list []scan.Elsewhere) {
	now := map[int]bool{}
	for _, e := range list {
		if bytes := e.Bytes(); !e.Namespace && bytes != scan.Unknown {
			now[e.PID] = true
			b.Dead(e.PID, tMs,
				[]record.Cell{{Column: fmt.Sprintf("%s@%d", record.ColGPU, e.Device), Value: bytes}})
		}
	}
	for pid := range b.dead {
		if !now[pid] {
			b.Forget(pid)
		}
	}
	b.dead = now
}

// publish publishes what a watcher finds.
func (b *book) publish(o *Options, w *watcher) (*publishing.Published, error) {
	b.sources.Store(w.sources)
	return o.Metrics.Start(o.Err, b.Book, func(context.Context) {})
}
