package sample

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// gpuStale is how old a reading may be, at least and in intervals, before it no
	// longer is the present: a driver that hangs must not freeze a number into the
	// rows.
	gpuStale          = 500 * time.Millisecond
	gpuStaleIntervals = 4
	// askAgain is how long a driver that fails is left alone.
	askAgain = time.Second
	// mostDevices bounds the devices that have a column.
	mostDevices = 1024
)

// charges are the GPU bytes as last told.
type charges struct {
	// notBefore and spare belong to the goroutine that asks.
	notBefore int64
	spare     []probe.Charge

	mu      sync.Mutex
	told    []probe.Charge // by pid
	at      int64
	stale   int64 // ns
	many    bool  // some process uses a device other than device 0
	columns []string
}

// Ask asks the drivers what they hold for the processes; the rows that follow
// have it. The error, in one line, says why some of it is missing; a failing
// driver gives one error a second. Without a reader it does nothing.
func (s *Sampler) Ask(pids []int) error {
	g := &s.gpu
	if s.o.GPU == nil || s.o.Now() < g.notBefore {
		return nil
	}
	list, err := s.o.GPU.Read(pids, g.spare[:0])
	now := s.o.Now()
	if err != nil {
		g.notBefore = now + int64(askAgain)
	}
	slices.SortStableFunc(list, func(a, b probe.Charge) int { return a.PID - b.PID })
	g.spare = g.keep(now, list)
	return err
}

// AskEach asks until done is closed, about the processes that pids returns, and hands
// each error to warn. Between two answers it waits for as long as every says then, less
// what the drivers took.
func (s *Sampler) AskEach(done <-chan struct{}, every func() time.Duration, pids func() []int,
	warn func(error)) {
	if s.o.GPU == nil {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		begun := time.Now()
		if err := s.Ask(pids()); err != nil {
			warn(err)
		}
		interval := every()
		s.gpu.expectEach(interval)
		timer.Reset(max(interval-time.Since(begun), 0))
	}
}

// expectEach says how often something new is told.
func (g *charges) expectEach(interval time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stale = int64(max(gpuStale, gpuStaleIntervals*interval))
}

// keep takes over what was told at a time, in order of pid, and returns the list
// that is not needed any more.
func (g *charges) keep(at int64, list []probe.Charge) (spare []probe.Charge) {
	g.mu.Lock()
	defer g.mu.Unlock()
	spare, g.told, g.at = g.told, list, at
	for _, c := range list {
		g.many = g.many || c.Device > 0
		for c.Device >= len(g.columns) && c.Device < mostDevices {
			g.columns = append(g.columns, record.ColGPU+"@"+strconv.Itoa(len(g.columns)))
		}
	}
	return spare
}

// append adds the GPU bytes of a process and returns their total; when a part of
// them is not known, none is added and the total is probe.Unknown.
func (g *charges) append(cells []record.Cell, pid int, now int64) ([]record.Cell, int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	first, found := slices.BinarySearchFunc(g.told, pid, func(c probe.Charge, pid int) int {
		return c.PID - pid
	})
	if !found || now-g.at > g.stale {
		return cells, probe.Unknown
	}
	list := g.told[first:]
	total := int64(0)
	for i, c := range list {
		if c.PID != pid {
			list = list[:i]
			break
		}
		total = probe.Add(total, c.Bytes())
	}
	if total == probe.Unknown { // a part is no total
		return cells, total
	}
	for _, c := range list {
		if g.many && c.Device >= 0 && c.Device < len(g.columns) {
			cells = append(cells, record.Cell{Column: g.columns[c.Device], Value: c.Bytes()})
		}
	}
	return append(cells, record.Cell{Column: record.ColGPU, Value: total}), total
}
