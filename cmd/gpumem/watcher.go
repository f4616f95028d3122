package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/sample"
)

// rescanEvery is how often a watch of all processes looks for new ones; a scan
// costs a thousand times what a row does.
const rescanEvery = 10 * time.Second

// watcher samples processes for a feed, in one goroutine.
type watcher struct {
	feed     rowTaker
	interval time.Duration
	chosen   []int // by the user; none is all
	sources  *scan.Sources
	gpu      probe.Reader // nil without a source
	procs    *sample.Set
	all      bool // no process uses a GPU: all are shown
	onlyGPU  bool // not then: a service waits for one
	start    time.Time
	scanned  time.Time
}

func newWatcher(ctx context.Context, f watchFlags, feed rowTaker, pids []int) (*watcher, error) {
	sources, err := f.gpu.open(ctx)
	if err != nil {
		return nil, err
	}
	w := &watcher{feed: feed, interval: f.interval, chosen: pids, sources: sources, start: time.Now()}
	w.onlyGPU = f.metrics.on() && sources.Here()
	if sources.Here() {
		w.gpu = sources.Reader()
	}
	w.procs = sample.New(sample.Options{
		Now: func() int64 { return int64(time.Since(w.start)) }, Interval: f.interval, GPU: w.gpu,
	}).NewSet()
	meta := record.Meta{Start: w.start, IntervalMs: float64(f.interval) / float64(time.Millisecond)}
	if devices := sourceDevices(ctx, sources); len(devices) > 0 {
		meta.Device = gpuName(devices)
		meta.CapacityBytes = map[string]int64{}
		if len(devices) == 1 && devices[0].Capacity() > 0 {
			meta.CapacityBytes[record.LimitDevice] = devices[0].Capacity()
		}
	}
	if len(pids) > 0 {
		meta.PID = pids[0]
	}
	feed.SetMeta(meta)
	if err := w.scan(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func sourceDevices(ctx context.Context, s *scan.Sources) []scan.Device {
	if !s.Here() {
		return nil
	}
	return s.Devices(ctx)
}

// run samples each interval.
func (w *watcher) run(ctx context.Context) {
	ticker := time.NewTicker(w.interval)
	defer ticker.Stop()
	for {
		w.sample()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if len(w.chosen) == 0 && time.Since(w.scanned) >= rescanEvery {
			if err := w.scan(ctx); err != nil {
				w.feed.Fault(err.Error())
			}
		}
	}
}

// scan finds the processes to watch and opens those that are new. The error is
// for a chosen one that is no process, and for a machine that cannot be read.
func (w *watcher) scan(ctx context.Context) error {
	s, err := scan.Read(ctx, scan.Options{PIDs: w.chosen, Sources: w.sources})
	if err != nil {
		return err
	}
	w.scanned = time.Now()
	users := false
	for i := range s.Processes {
		users = users || len(s.Processes[i].GPU) > 0
	}
	w.all = len(w.chosen) > 0 || !users && !w.onlyGPU
	w.feed.Held(w.now(), s.Elsewhere)
	for i := range s.Processes {
		p := &s.Processes[i]
		if p.PID == os.Getpid() || p.State == scan.Zombie || !w.all && len(p.GPU) == 0 || w.procs.Has(p.PID) {
			continue
		}
		if w.procs.Add(p.PID, p.Start) == nil { // else gone, or not to be read
			w.feed.Name(p.PID, naming.Program(p))
		}
	}
	return nil
}

// now is the time of a row, in ms.
func (w *watcher) now() float64 { return float64(time.Since(w.start).Microseconds()) / 1000 }

// sample takes one row of each process.
func (w *watcher) sample() {
	row := func(pid int, cells []record.Cell) { w.feed.Row(pid, w.now(), cells) }
	w.procs.Round(row, w.ended) //nolint:errcheck // what GPUs hold is then unknown, and shown as such
	w.feed.Round()
}

// ended keeps a chosen process on the screen and drops another.
func (w *watcher) ended(pid int, err error) {
	if len(w.chosen) == 0 {
		w.feed.Forget(pid)
		return
	}
	w.feed.Gone(pid)
	text := "the process has ended"
	if !errors.Is(err, probe.ErrExited) {
		text = err.Error()
	}
	w.feed.Event(record.Event{TMs: float64(time.Since(w.start).Milliseconds()), PID: pid,
		Kind: record.KindEvent, Name: text})
}

func (w *watcher) close() {
	w.procs.Close()
	if w.gpu != nil {
		w.gpu.Close()
	}
	if w.sources != nil {
		w.sources.Close()
	}
}
