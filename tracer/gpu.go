package tracer

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/record"
)

// gpuStale is how old a reading may be, at least and in intervals, before it no
// longer is the present: a driver that hangs must not freeze a number into the
// rows.
const (
	gpuStale          = 500 * time.Millisecond
	gpuStaleIntervals = 4
)

// gpuReader asks for GPU bytes, beside the sampling, and keeps the latest.
type gpuReader struct {
	reader probe.Reader // nil asks nobody
	stale  int64        // ns

	mu     sync.Mutex
	uses   map[int][]probe.Charge // by pid
	at     int64
	many   bool // some process uses more than device 0
	column []string
}

func newGPUReader(reader probe.Reader, interval time.Duration) *gpuReader {
	return &gpuReader{
		reader: reader, uses: map[int][]probe.Charge{},
		stale: int64(max(gpuStale, gpuStaleIntervals*interval)),
	}
}

// run asks each interval until done is closed.
func (g *gpuReader) run(r *recording, done <-chan struct{}) {
	if g.reader == nil {
		return
	}
	ticker := time.NewTicker(r.cfg.Interval)
	defer ticker.Stop()
	notBefore := int64(0)
	var buf []probe.Charge
	for {
		if r.clock.Now() >= notBefore {
			var err error
			if buf, err = g.reader.Read(r.pids(), buf[:0]); err != nil {
				r.warn(fmt.Sprintf("GPU bytes are missing: %v", err))
				notBefore, buf = r.clock.Now()+int64(time.Second), buf[:0]
			}
			g.keep(r.clock.Now(), buf)
		}
		select {
		case <-done:
			return
		case <-ticker.C:
		}
	}
}

// keep takes over what was told at a time.
func (g *gpuReader) keep(at int64, charges []probe.Charge) {
	uses := map[int][]probe.Charge{}
	for _, c := range charges {
		uses[c.PID] = append(uses[c.PID], c)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uses, g.at = uses, at
	for _, c := range charges {
		g.many = g.many || c.Device > 0
		for c.Device >= len(g.column) && c.Device < 1024 {
			g.column = append(g.column, record.ColGPU+"@"+strconv.Itoa(len(g.column)))
		}
	}
}

// append adds the GPU bytes of a process and reports whether any are known.
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
	for _, c := range list {
		bytes := c.Bytes()
		total += bytes
		if g.many && c.Device >= 0 && c.Device < len(g.column) {
			cells = append(cells, record.Cell{Column: g.column[c.Device], Value: bytes})
		}
	}
	f.gpu = total
	return append(cells, record.Cell{Column: record.ColGPU, Value: total}), true
}
