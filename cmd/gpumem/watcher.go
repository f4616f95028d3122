package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer/record"
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
	procs    map[int]*probe.Process
	order    []int
	noSwap   bool
	all      bool // no process uses a GPU: all are shown
	onlyGPU  bool // not then: a service waits for one
	many     bool // some process uses more than device 0
	start    time.Time
	scanned  time.Time
	cells    []record.Cell
	uses     []probe.Charge
}

func newWatcher(ctx context.Context, f watchFlags, feed rowTaker, pids []int) (*watcher, error) {
	sources, err := f.gpu.open(ctx)
	if err != nil {
		return nil, err
	}
	w := &watcher{feed: feed, interval: f.interval, chosen: pids, sources: sources, procs: map[int]*probe.Process{}, start: time.Now()}
	w.onlyGPU = f.metrics.on() && sources.Here()
	if sources.Here() {
		w.gpu = sources.Reader()
	}
	if t, err := probe.ReadTotals(0); err == nil {
		w.noSwap = t.SwapTotal == 0
	}
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
	w.feed.Held(float64(time.Since(w.start).Microseconds())/1000, s.Elsewhere)
	for i := range s.Processes {
		p := &s.Processes[i]
		if p.PID == os.Getpid() || p.State == scan.Zombie || !w.all && len(p.GPU) == 0 || w.procs[p.PID] != nil {
			continue
		}
		file, err := probe.Open(p.PID)
		if err != nil {
			continue // gone, or not to be read
		}
		w.procs[p.PID], w.order = file, append(w.order, p.PID)
		w.feed.Name(p.PID, naming.Program(p))
	}
	return nil
}

// sample takes one row of each process.
func (w *watcher) sample() {
	charges := w.charges()
	kept := w.order[:0]
	for _, pid := range w.order {
		p := w.procs[pid]
		var m probe.Memory
		read := p.ReadSplit
		if w.noSwap {
			read = p.Read
		}
		if err := read(&m); err != nil {
			p.Close()
			delete(w.procs, pid)
			w.ended(pid, err)
			continue
		}
		kept = append(kept, pid)
		if w.noSwap && m.Footprint == probe.Unknown {
			m.Footprint = m.RSS
		}
		w.feed.Row(pid, float64(time.Since(w.start).Microseconds())/1000, w.row(&m, charges[pid]))
	}
	w.order = kept
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
	w.feed.Event(record.Event{TMs: float64(time.Since(w.start).Milliseconds()), PID: pid, Kind: record.KindEvent, Name: text})
}

// charges are the GPU bytes by process, on each device.
func (w *watcher) charges() map[int][]probe.Charge {
	if w.gpu == nil {
		return nil
	}
	var err error
	if w.uses, err = w.gpu.Read(w.order, w.uses[:0]); err != nil {
		return nil // what can be read in spite of it comes with the next call
	}
	out := map[int][]probe.Charge{}
	for _, u := range w.uses {
		out[u.PID] = append(out[u.PID], u)
		w.many = w.many || u.Device > 0
	}
	return out
}

func (w *watcher) row(m *probe.Memory, gpu []probe.Charge) []record.Cell {
	cells := w.cells[:0]
	for _, c := range [...]record.Cell{
		{Column: record.ColRSS, Value: m.RSS}, {Column: record.ColRSSAnon, Value: m.Anon}, {Column: record.ColSwap, Value: m.Swap},
		{Column: record.ColFootprint, Value: m.Footprint},
	} {
		if c.Value != probe.Unknown {
			cells = append(cells, c)
		}
	}
	total := int64(0)
	for _, u := range gpu {
		total += u.Bytes()
		if w.many {
			cells = append(cells, record.Cell{Column: record.ColGPU + "@" + strconv.Itoa(u.Device), Value: u.Bytes()})
		}
	}
	if len(gpu) > 0 {
		cells = append(cells, record.Cell{Column: record.ColGPU, Value: total})
	}
	w.cells = cells
	return cells
}

func (w *watcher) close() {
	for _, p := range w.procs {
		p.Close()
	}
	if w.gpu != nil {
		w.gpu.Close()
	}
	if w.sources != nil {
		w.sources.Close()
	}
}
