package watching

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/publishing"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/sample"
	"github.com/gpumem/gpumem/tui"
)

// A watch looks for new processes, and for what the system tells of those there are,
// after this time: as often as costs no more than one part in scanShare of a core. A
// scan costs a thousand times what a row does.
const (
	rescanSoonest = 2 * time.Second
	rescanLatest  = 10 * time.Second
	scanShare     = 50
)

// Options say what is watched, and where it is shown.
type Options struct {
	In, Out, Err *os.File
	Interval     time.Duration // between samples
	GPU          option.GPU
	Judging      verdict.Options
	Metrics      publishing.Flags
	PIDs         []int  // none is every process that uses a GPU
	Greeting     string // what the screen says first; empty is nothing
	Inject       string // what goes into the programs: see [injection.AddVisits]; empty is nothing
}

// watcher samples processes for a feed, in one goroutine.
type watcher struct {
	feed     taker
	interval time.Duration
	chosen   []int // by the user; none is all
	sources  *scan.Sources
	gpu      probe.Reader // nil without a source
	procs    *sample.Set
	all      bool // no process uses a GPU: all are shown
	onlyGPU  bool // not then: a service waits for one
	start    time.Time
	rescan   time.Time // when the next scan is due
	machine  *machine  // nil without a screen
}

// newWatcher opens the sources and takes a first look. screen, when there is one, is
// told of the machine too.
func newWatcher(ctx context.Context, o *Options, feed taker, screen *tui.Feed) (*watcher, error) {
	sources, err := o.GPU.Open(ctx)
	if err != nil {
		return nil, err
	}
	feed = o.entering(feed, screen != nil)
	w := &watcher{feed: feed, interval: o.Interval, chosen: o.PIDs, sources: sources, start: time.Now()}
	if screen != nil {
		w.machine = newMachine(screen, sources)
	}
	w.onlyGPU = o.Metrics.On() && sources.Here()
	if sources.Here() {
		w.gpu = sources.Reader()
	}
	w.procs = sample.New(sample.Options{
		Now: func() int64 { return int64(time.Since(w.start)) }, Interval: o.Interval, GPU: w.gpu,
	}).NewSet()
	meta := record.Meta{Start: w.start, IntervalMs: float64(o.Interval) / float64(time.Millisecond)}
	if devices := devicesOf(ctx, sources); len(devices) > 0 {
		meta.Device = option.GPUNames(devices)
		meta.CapacityBytes = map[string]int64{}
		if len(devices) == 1 && devices[0].Capacity() > 0 {
			meta.CapacityBytes[record.LimitDevice] = devices[0].Capacity()
		}
	}
	if len(o.PIDs) > 0 {
		meta.PID = o.PIDs[0]
	}
	feed.SetMeta(meta)
	if err := w.scan(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func devicesOf(ctx context.Context, s *scan.Sources) []scan.Device {
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
		if ctx.Err() != nil { // both had come: the sample before was the last
			return
		}
		if time.Now().Before(w.rescan) || w.machine == nil && len(w.chosen) > 0 {
			continue
		}
		// A chosen process that is gone is shown as such.
		if err := w.scan(ctx); err != nil && len(w.chosen) == 0 {
			w.feed.Fault(err.Error())
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
	w.rescan = time.Now().Add(min(max(scanShare*s.Elapsed, rescanSoonest), rescanLatest))
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
	w.machine.scanned(s)
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
	if r, ok := w.feed.(*enteredRows); ok {
		r.leave()
	}
	w.procs.Close()
	if w.gpu != nil {
		w.gpu.Close()
	}
	if w.sources != nil {
		w.sources.Close()
	}
}
