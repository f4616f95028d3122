package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/metrics"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tui"
)

// rowTaker takes what a watcher finds: the screen, the metrics, or both.
type rowTaker interface {
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

// screenRows is the screen as a rowTaker.
type screenRows struct{ *tui.Feed }

// Held is not shown there.
func (screenRows) Held(float64, []scan.Elsewhere) {}

// rowTakers are several.
type rowTakers []rowTaker

func (l rowTakers) each(f func(rowTaker)) {
	for _, t := range l {
		f(t)
	}
}

func (l rowTakers) SetMeta(m record.Meta)  { l.each(func(t rowTaker) { t.SetMeta(m) }) }
func (l rowTakers) Name(pid int, n string) { l.each(func(t rowTaker) { t.Name(pid, n) }) }
func (l rowTakers) Round()                 { l.each(rowTaker.Round) }
func (l rowTakers) Event(e record.Event)   { l.each(func(t rowTaker) { t.Event(e) }) }
func (l rowTakers) Gone(pid int)           { l.each(func(t rowTaker) { t.Gone(pid) }) }
func (l rowTakers) Forget(pid int)         { l.each(func(t rowTaker) { t.Forget(pid) }) }
func (l rowTakers) Fault(text string)      { l.each(func(t rowTaker) { t.Fault(text) }) }
func (l rowTakers) Row(pid int, tMs float64, cells []record.Cell) {
	l.each(func(t rowTaker) { t.Row(pid, tMs, cells) })
}
func (l rowTakers) Held(tMs float64, list []scan.Elsewhere) {
	l.each(func(t rowTaker) { t.Held(tMs, list) })
}

// watchBook is the metrics as a rowTaker.
type watchBook struct {
	*metrics.Book
	sources atomic.Pointer[scan.Sources]
	std     stdio
	fault   string       // said last
	dead    map[int]bool // published for no process
}

func newWatchBook(std stdio, judging verdict.Options) *watchBook {
	b := &watchBook{std: std, dead: map[int]bool{}}
	b.Book = metrics.NewBook(metrics.BookOptions{
		Judging: judging, Online: true, Complete: true,
		Limits: []metrics.Limit{{Name: record.LimitDevice, Column: record.ColGPU, Device: b.room}},
	})
	return b
}

// room is how much a device has, and how much of it is in use.
func (b *watchBook) room(n int) (capacity, used int64, ok bool) {
	devices := sourceDevices(context.Background(), b.sources.Load())
	if n >= len(devices) || devices[n].TotalBytes <= 0 || devices[n].UsedBytes == scan.Unknown {
		return 0, 0, false
	}
	return devices[n].TotalBytes, devices[n].UsedBytes, true
}

// Gone drops a process that has ended.
func (b *watchBook) Gone(pid int) { b.Forget(pid) }

// Fault says once what fails.
func (b *watchBook) Fault(text string) {
	if text != b.fault {
		fmt.Fprintf(b.std.err, "gpumem: warning: %s\n", text)
	}
	b.fault = text
}

// Held publishes what is held for processes that certainly are no more.
func (b *watchBook) Held(tMs float64, list []scan.Elsewhere) {
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

// watchUnseen watches processes without a screen, for the metrics, until ctx is
// done.
func watchUnseen(ctx context.Context, std stdio, f watchFlags, judging verdict.Options, pids []int) error {
	book := newWatchBook(std, judging)
	w, err := newWatcher(ctx, f, book, pids)
	if err != nil {
		return err
	}
	defer w.close()
	p, err := book.publish(std, f, w)
	if err != nil {
		return err
	}
	w.run(ctx)
	return p.end()
}

// publish publishes what a watcher finds.
func (b *watchBook) publish(std stdio, f watchFlags, w *watcher) (*published, error) {
	b.sources.Store(w.sources)
	return f.metrics.start(std, b.Book, func(context.Context) {})
}
