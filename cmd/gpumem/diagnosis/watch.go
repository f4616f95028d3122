package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// LeastWatch and LeastSamples are what the online judge needs for two
	// looks in a row.
	LeastWatch   = 3 * time.Second
	LeastSamples = 150
	// watchSamples is how many samples --for takes unless told otherwise.
	watchSamples = 240
	// maxRounds is how far the monitor may be behind the sampling.
	maxRounds = 1024
	// keptRows bounds what is kept of one process; then every second row goes.
	keptRows = 4096
)

// Observation is what watching every process gave. A nil one has seen nobody.
type Observation struct {
	length   time.Duration
	interval time.Duration
	samples  int // rounds over all processes
	ended    int // processes that ended meanwhile
	missed   int // processes that could not be opened
	of       map[int]*observed
	warnings []string
}

// observed is one process while it is watched.
type observed struct {
	process scan.Process
	file    *probe.Process
	times   []float64
	columns [watchColumns][]float64
	stride  int
	skip    int
	ended   bool

	grows   bool // the monitor says so
	verdict *verdict.Verdict
}

// The columns that are watched.
const (
	watchRSS = iota
	watchAnon
	watchFootprint
	watchGPU
	watchColumns
)

func watchNames() [watchColumns]string {
	return [...]string{record.ColRSS, record.ColRSSAnon, record.ColFootprint, record.ColGPU}
}

// WatchOptions say how to watch.
type WatchOptions struct {
	// Length is how long, LeastWatch or more. Interval is the time between
	// samples; 0 is watchSamples of them, from 20 ms to 1 s apart.
	Length, Interval time.Duration
	// GPU tells the GPU bytes of processes, without those that hold none; nil
	// when no source is here.
	GPU func(pids []int) (map[int]int64, error)
	// Progress is the terminal of a person who waits; nil when there is none.
	Progress io.Writer
}

// Watch samples every process of a scan, for a time or until ctx is done, and
// judges each. The error is that nothing was seen at all.
func Watch(ctx context.Context, s *scan.Scan, o WatchOptions) (*Observation, error) {
	w := &watching{
		Observation: Observation{interval: o.Interval, of: map[int]*observed{}},
		monitor:     verdict.NewMonitor(verdict.Options{}), feed: make(chan []row, maxRounds), done: make(chan struct{}),
		swap: s.Totals.SwapTotal != 0, gpu: o.GPU, progress: &watchProgress{w: o.Progress},
	}
	if w.interval == 0 {
		w.interval = min(max((o.Length/watchSamples).Truncate(time.Millisecond), 20*time.Millisecond), time.Second)
	}
	w.open(s)
	go w.judge()
	w.run(ctx, o.Length)
	close(w.feed)
	w.progress.judging()
	<-w.done
	w.close()
	w.progress.clear()
	if w.samples == 0 {
		return nil, errors.New("nothing was watched: interrupted before the first sample")
	}
	return &w.Observation, nil
}

// watching is an observation under way. Sampling runs on one goroutine, the
// monitor on another, so that its looks hold no sample up.
type watching struct {
	Observation
	pids     []int // that still run
	gpu      func(pids []int) (map[int]int64, error)
	swap     bool // the machine has some
	monitor  *verdict.Monitor
	feed     chan []row
	done     chan struct{}
	alarms   []verdict.Alarm
	progress *watchProgress
}

// row is one sample of one process.
type row struct {
	pid    int
	t      float64 // ms
	values [watchColumns]int64
}

// open opens every process of the scan that has memory.
func (w *watching) open(s *scan.Scan) {
	for _, p := range s.Processes {
		if p.PID == os.Getpid() || p.State == scan.Zombie {
			continue
		}
		file, err := probe.Open(p.PID)
		if err == nil && file.Identity().Start != p.Start {
			file.Close() // a later process has got the pid
			err = probe.ErrExited
		}
		switch {
		case err == nil:
			w.of[p.PID] = &observed{process: p, file: file, stride: 1}
			w.pids = append(w.pids, p.PID)
		case !errors.Is(err, probe.ErrExited):
			w.missed++
			if w.missed == 1 {
				w.warnings = append(w.warnings, fmt.Sprintf("not every process could be watched: %v", err))
			}
		}
	}
}

// run samples each interval until the time is over.
func (w *watching) run(ctx context.Context, length time.Duration) {
	start := time.Now()
	ticker := time.NewTicker(w.interval)
	defer ticker.Stop()
	end := time.NewTimer(length)
	defer end.Stop()
	for {
		w.sample(time.Since(start))
		w.length = time.Since(start)
		w.progress.show(w.length, length, len(w.pids))
		select {
		case <-ctx.Done():
			return
		case <-end.C:
			return
		case <-ticker.C:
		}
	}
}

// sample takes one row of each process.
func (w *watching) sample(at time.Duration) {
	gpu := w.readGPU()
	rows := make([]row, 0, len(w.pids))
	t := float64(at.Microseconds()) / 1000
	running := w.pids[:0]
	for _, pid := range w.pids {
		o := w.of[pid]
		var m probe.Memory
		read := o.file.Read
		if w.swap {
			read = o.file.ReadSplit
		}
		if err := read(&m); err != nil {
			if !o.ended {
				o.ended = true
				w.ended++
			}
			continue
		}
		running = append(running, pid)
		if !w.swap {
			m.Footprint = m.RSS
		}
		r := row{pid: pid, t: t, values: [...]int64{m.RSS, m.Anon, m.Footprint, probe.Unknown}}
		if b, ok := gpu[pid]; ok {
			r.values[watchGPU] = b
		}
		o.keep(&r)
		rows = append(rows, r)
	}
	w.pids = running
	w.samples++
	w.feed <- rows
}

// readGPU is the GPU bytes of the processes that hold some.
func (w *watching) readGPU() map[int]int64 {
	if w.gpu == nil {
		return nil
	}
	all, err := w.gpu(w.pids)
	if err != nil {
		w.warnings = append(w.warnings, fmt.Sprintf("GPU bytes are missing: %v", err))
		return nil
	}
	return all
}

// keep keeps a row, thinned when there are too many.
func (o *observed) keep(r *row) {
	if o.skip++; o.skip < o.stride {
		return
	}
	o.skip = 0
	o.times = append(o.times, r.t)
	for i, v := range r.values {
		x := record.Unknown()
		if v != probe.Unknown {
			x = float64(v)
		}
		o.columns[i] = append(o.columns[i], x)
	}
	if len(o.times) < keptRows {
		return
	}
	o.stride *= 2
	o.times = everySecond(o.times)
	for i := range o.columns {
		o.columns[i] = everySecond(o.columns[i])
	}
}

func everySecond(v []float64) []float64 {
	k := 0
	for i := 0; i < len(v); i += 2 {
		v[k] = v[i]
		k++
	}
	return v[:k]
}

// close gives the files back.
func (w *watching) close() {
	for _, o := range w.of {
		o.file.Close()
	}
}
