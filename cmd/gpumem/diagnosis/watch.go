package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/live"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/sample"
)

const (
	// LeastWatch and LeastSamples are what the online judge needs for two
	// looks in a row.
	LeastWatch   = 3 * time.Second
	LeastSamples = 150
	// watchSamples is how many samples --for takes unless told otherwise.
	watchSamples = 240
	// maxRounds is how far judging may be behind the sampling.
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
	live    *live.Process // nil before its first row
	ended   bool

	grows   bool // the monitor says so
	verdict *verdict.Verdict

	inside       bool   // an agent was to come in
	answer, next string // of its verdict, with who holds it
}

// watchNames are the columns that are watched.
func watchNames() []string {
	return []string{record.ColRSS, record.ColRSSAnon, record.ColFootprint, record.ColReserved, record.ColThreads,
		record.ColGPU}
}

// WatchOptions say how to watch.
type WatchOptions struct {
	// Length is how long, LeastWatch or more. Interval is the time between
	// samples; 0 is watchSamples of them, from 20 ms to 1 s apart.
	Length, Interval time.Duration
	// GPU tells the GPU bytes of processes; nil when no source is here.
	GPU probe.Reader
	// Agents, when set, has agents come into the processes, all of them when Chosen.
	Agents OpenAgents
	Chosen bool
	// Progress is the terminal of a person who waits; nil when there is none.
	Progress io.Writer
}

// Watch samples every process of a scan, for a time or until ctx is done, and
// judges each. The error is that nothing was seen at all.
func Watch(ctx context.Context, s *scan.Scan, o WatchOptions) (*Observation, error) {
	w := &watching{
		Observation: Observation{interval: o.Interval, of: map[int]*observed{}},
		rounds:      make(chan struct{}, maxRounds), done: make(chan struct{}),
		progress: &watchProgress{w: o.Progress},
	}
	w.live = live.NewSet(live.Options{
		Lock: &w.mu, Judges: live.Alarms, Rows: func(int) int { return keptRows },
		Pending: maxRounds * (len(s.Processes) + 1),
	})
	if w.interval == 0 {
		w.interval = min(max((o.Length/watchSamples).Truncate(time.Millisecond), 20*time.Millisecond),
			time.Second)
	}
	start := time.Now()
	w.procs = sample.New(sample.Options{
		Now: func() int64 { return int64(time.Since(start)) }, Interval: w.interval, GPU: o.GPU,
	}).NewSet()
	defer w.procs.Close()
	w.open(s)
	w.enter(s, o, start)
	go w.judge()
	w.run(ctx, o.Length)
	w.leave()
	close(w.rounds)
	w.progress.judging()
	<-w.done
	w.progress.clear()
	if w.samples == 0 {
		return nil, errors.New("nothing was watched: it was interrupted before the first sample")
	}
	return &w.Observation, nil
}

// watching is an observation under way. Sampling runs on one goroutine, judging on
// another, so that looks hold no sample up.
type watching struct {
	Observation
	procs    *sample.Set // that still run
	mu       sync.Mutex
	live     *live.Set
	rounds   chan struct{} // that are to be judged
	done     chan struct{}
	progress *watchProgress
	cells    []record.Cell
	agents   Agents // nil: nobody is entered
}

// open opens every process of the scan that has memory.
func (w *watching) open(s *scan.Scan) {
	for _, p := range s.Processes {
		if p.PID == os.Getpid() || p.State == scan.Zombie {
			continue
		}
		switch err := w.procs.Add(p.PID, p.Start); {
		case err == nil:
			w.of[p.PID] = &observed{process: p}
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
		w.progress.show(w.length, length, w.procs.Len())
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
	t := float64(at.Microseconds()) / 1000
	err := w.procs.Round(func(pid int, cells []record.Cell) { w.row(pid, t, cells) }, func(pid int, _ error) {
		w.of[pid].ended, w.ended = true, w.ended+1
	})
	if err != nil {
		w.warn(fmt.Sprintf("GPU bytes are missing: %v", err))
	}
	w.samples++
	w.mu.Lock()
	w.live.Round()
	w.mu.Unlock()
	w.rounds <- struct{}{}
}

// row takes what is watched of a row.
func (w *watching) row(pid int, t float64, cells []record.Cell) {
	w.cells = w.cells[:0]
	for _, c := range cells {
		if slices.Contains(watchNames(), c.Column) {
			w.cells = append(w.cells, c)
		}
	}
	w.cells = append(w.cells, w.told(pid)...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[pid].live = w.live.Row(pid, t, w.cells)
}

// warn adds a warning, once.
func (w *watching) warn(text string) {
	if !slices.Contains(w.warnings, text) {
		w.warnings = append(w.warnings, text)
	}
}
