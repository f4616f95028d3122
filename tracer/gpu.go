package tracer

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// gpuStale is how old a reading may be, at least and in intervals, before it no
// longer is the present: a driver that hangs must not freeze a number into the
// rows.
const (
	gpuStale          = 500 * time.Millisecond
	gpuStaleIntervals = 4
)

// gpuReader asks the sources, beside the sampling, and keeps the latest.
type gpuReader struct {
	sources []GPUSource
	stale   int64 // ns

	mu     sync.Mutex
	uses   map[int][]GPUUse // by pid
	at     int64
	many   bool // some process uses more than device 0
	column []string
}

func newGPUReader(sources []GPUSource, interval time.Duration) *gpuReader {
	return &gpuReader{
		sources: sources, uses: map[int][]GPUUse{},
		stale: int64(max(gpuStale, gpuStaleIntervals*interval)),
	}
}

// run asks the sources each interval until done is closed.
func (g *gpuReader) run(r *recording, done <-chan struct{}) {
	if len(g.sources) == 0 {
		return
	}
	ticker := time.NewTicker(r.cfg.Interval)
	defer ticker.Stop()
	notBefore := make([]int64, len(g.sources))
	var buf []GPUUse
	for {
		buf = g.ask(r, notBefore, buf[:0])
		select {
		case <-done:
			return
		case <-ticker.C:
		}
	}
}

// ask asks each source once. The first source that knows a process counts.
func (g *gpuReader) ask(r *recording, notBefore []int64, buf []GPUUse) []GPUUse {
	pids := r.pids()
	uses := map[int][]GPUUse{}
	for i, source := range g.sources {
		if r.clock.Now() < notBefore[i] {
			continue
		}
		var err error
		buf, err = source.ReadGPU(pids, buf[:0])
		if err != nil {
			r.warn(fmt.Sprintf("GPU bytes are missing: %v", err))
			notBefore[i] = r.clock.Now() + int64(time.Second)
			continue
		}
		got := map[int][]GPUUse{}
		for _, u := range buf {
			got[u.PID] = append(got[u.PID], u)
		}
		for pid, list := range got {
			if _, known := uses[pid]; !known {
				uses[pid] = list
			}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uses, g.at = uses, r.clock.Now()
	for _, list := range uses {
		for _, u := range list {
			g.many = g.many || u.Device > 0
			for u.Device >= len(g.column) && u.Device < 1024 {
				g.column = append(g.column, record.ColGPU+"@"+strconv.Itoa(len(g.column)))
			}
		}
	}
	return buf
}

// append adds the GPU bytes of a process and reports whether a source knew any.
// With one device there is the column gpu_bytes alone, else one for each device
// as well.
func (g *gpuReader) append(cells []record.Cell, f *followed, now int64) ([]record.Cell, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.uses[f.pid]
	if len(list) == 0 || now-g.at > g.stale {
		return cells, false
	}
	total := int64(0)
	for _, u := range list {
		total += u.Bytes
		if g.many && u.Device >= 0 && u.Device < len(g.column) {
			cells = append(cells, record.Cell{Column: g.column[u.Device], Value: u.Bytes})
		}
	}
	f.gpu = total
	return append(cells, record.Cell{Column: record.ColGPU, Value: total}), true
}
