package tui

import (
	"time"

	liveset "github.com/gpumem/gpumem/report/live"
	"github.com/gpumem/gpumem/tracer/record"
)

// State is what becomes of the run on the screen.
type State string

// The states of a run.
const (
	Waiting   State = "waiting" // no row yet
	Recording State = "recording"
	Watching  State = "watching" // nothing is recorded
	Silent    State = "silent"   // rows stopped without an end
	Playing   State = "playing"
	Ended     State = "ended"
)

// Frame is what a screen shows at one moment. It is immutable.
type Frame struct {
	Number  int64
	Skipped int64 // frames that were due and nobody took
	State   State
	// Done is set when no later frame can differ, but for the view.
	Done      bool
	Name      string // of the program, as typed
	Meta      record.Meta
	Path      string // the run folder, or empty
	ElapsedMs float64
	Rows      int64
	RowRate   float64 // rows a second, lately
	Phase     string  // last marked
	Step      float64 // NaN when there are none
	StepRate  float64 // a second, lately; NaN when unknown

	// Processes in order of pid; Chosen is an index into it, or -1.
	Processes []Process
	Chosen    int
	Devices   []int // devices of the chosen process with columns of their own
	View      View  // what the frame is of
	Unified   bool  // GPU bytes are host memory
	// Now, Start and Marked are the values of the chosen process and device.
	Now, Start, Marked values
	// AtWork says that Now is what was held at the end of the judged window, before
	// the process that has ended gave everything up.
	AtWork bool
	Spark  [seriesCount][]float64
	Mark   *Mark
	Chart  Chart
	Judged Judged
	Pool   Pool

	Events      []record.Event // the latest, oldest first, steps left out
	Sites       []record.Site
	Holders     []record.Holder
	Classes     []PoolClass  // as last told, those that keep most idle first
	Output      []OutputLine // the latest, oldest first
	Composition *Composition // nil until the program tells
	Machine     []Device     // its GPUs; none where processes are not watched
	Play        *Playback    // nil when not played back
	Health      Health
}

// Process is one process on the screen.
type Process struct {
	PID    int
	Name   string
	Gone   bool
	Now    values
	Start  values
	Rate   float64 // bytes a second over the last rows; NaN when unknown
	Spark  []float64
	Judged Judged
	Facts
}

// Total is what a process holds: host memory and, where apart from it, the GPU's.
func (p *Process) Total(unified bool) float64 { return total(&p.Now, unified) }

// Growth is how much Total grew since the first row.
func (p *Process) Growth(unified bool) float64 {
	return total(&p.Now, unified) - total(&p.Start, unified)
}

// Judged is the verdict on one process as it stands, and Turn a change of it.
type (
	Judged = liveset.Judged
	Turn   = liveset.Turn
)

// Mark is a point that later values are compared with.
type Mark struct {
	Name string
	AtMs float64
	Step float64
}

// Chart is the chosen ledger over the window, a column a cell.
type Chart struct {
	FromMs, ToMs float64
	// LengthMs is the time of the last row of the process.
	LengthMs float64
	Columns  []values // NaN where there are no data
	Marks    []ChartMark
}

// ChartMark is an event at the foot of the chart.
type ChartMark struct {
	AtMs float64
	Mine bool // set by hand
}

// Pool is what the program's pool says of itself; NaN is unknown.
type Pool struct {
	Hits, Misses, Allocs, Frees, Refs, Shapes, Pipelines, Commands, CommandBuffers float64
	// Lately is the hit rate of the last rows.
	Lately float64
}

// PoolClass is one size class of the program's pool, as it stands in the Detail
// of an event: {"classes":[{"class":"4 KiB","bytes":4096,…}]}. Bytes is the
// length of one buffer, the others are counts; MaxIdle −1 is no limit. What a
// pool does not count is nil.
type PoolClass struct {
	Class   string `json:"class"`
	Bytes   *int64 `json:"bytes"`
	Live    *int64 `json:"live"`
	Idle    *int64 `json:"idle"`
	MaxIdle *int64 `json:"max_idle"`
	Hits    *int64 `json:"hits"`
	Misses  *int64 `json:"misses"`
}

// idleBytes is what the class keeps, negative when unknown.
func (c *PoolClass) idleBytes() int64 {
	if c.Bytes == nil || c.Idle == nil {
		return -1
	}
	return *c.Bytes * *c.Idle
}

// OutputLine is a line that the program wrote.
type OutputLine struct {
	Err  bool // on stderr
	Text string
}

// Playback is where a playback stands.
type Playback struct {
	Speed    float64 // 0 is held
	LengthMs float64
	Loading  bool
}

// Usage is what this tool itself has used.
type Usage struct {
	CPU time.Duration
	RSS int64 // bytes; negative is unknown
}

// Health is how well the tool does its work.
type Health struct {
	CPU       float64 // share of one core, lately; NaN when unknown
	RSS       float64 // bytes; NaN when unknown
	LastRowMs float64 // time of the run of the last row
	SilentFor time.Duration
	Missed    float64 // ticks too late to be taken; NaN when unknown
	LostRows  float64
	LookCost  time.Duration // of the last judgement
	FrameCost time.Duration // of making the frame
	Warnings  int
	Fault     string // what stopped the reading
}
