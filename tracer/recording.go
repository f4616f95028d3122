package tracer

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/sample"
)

const (
	// maxWarnings bounds the warnings of a run; a hostile program can cause any
	// number.
	maxWarnings = 100
	// rowsPerSecond bounds the rows that agents cause for one process.
	rowsPerSecond = 1000
	// splitEvery is how often a row has the split of the resident memory and
	// the swap: reading them costs the kernel six times what the rest does.
	splitEvery = 200 * time.Millisecond
)

// recording is a run while it is recorded. Agents' connections, the timer and
// the experiments all come together here, under one lock that is held for the
// microseconds of a row.
type recording struct {
	cfg   Config
	out   *record.Writer
	clock agent.Clock
	start int64 // on clock
	// sampler reads the processes. Its own are under mu.
	sampler *sample.Sampler
	beat    beat

	mu       sync.Mutex
	procs    map[int]*followed
	left     []probe.Identity // that were forgotten since the last look at the tree
	main     int
	multi    bool  // a second process was seen: rows carry their pid
	lastTime int64 // of the last row, on clock
	cells    []record.Cell
	lead     lead
	phase    string
	marks    markBudget // phases, sums and lists have budgets of their own: the report needs them
	phases   markBudget
	lists    markBudget
	large    markBudget // details of up to maxLarge
	kill     killWatch
	cut      int64 // marks with too long a text
	agents   map[*agent.Conn]*connected
	seen     map[string]bool // warnings given
	warnings []string
	missed   int64
	ooms     int // errors for want of memory
	skipped  int64
	heard    map[int]bool // processes that an agent has spoken for
	entered  entrance     // of an agent into a process that ran before
	before   *before      // what such a process held at first, nil of one that we started
	// introduced is how many introductions of processes were written.
	introduced int
	toldAll    bool // the introductions that were held back are written
	// droppedGone are the lines that agents of ended processes could not send.
	droppedGone int64
	broken      bool // the last row could not be written
	// ended is set, and failed closed, by a panic: see guard.
	ended  bool
	failed chan struct{}
	fresh  chan struct{}
}

// lead is the process whose rows are shown as progress: the first with an
// agent, as long as it runs, else the program itself. row is its latest, kept
// apart because the next process overwrites cells.
type lead struct {
	pid      int
	hasAgent bool
	row      record.Row
}

// followed is one process of the run.
type followed struct {
	pid     int
	ps      *sample.Process
	start   int64 // as in probe.Identity
	step    int64
	stepped bool
	steps   int64 // different steps seen
	lastRow int64 // on clock
	rate    bucket
	agentAt int64 // when its agent last sampled, and the row was not late
	marked  bool  // a phase was marked whose sample must have a row
	// when its agent's connection ended without a word; 0 when it did not, or there is a new one
	cutAt   int64
	dropped int64 // by its agent
	gpu     int64 // as last told, by whomever
	// more are the cells of Config.Cells as of the last poll.
	more       []record.Cell
	is         introduction
	introduced bool // is has been written
	named      bool // by its agent
	looks      int  // at what the system tells of it, after the first
	isPooled   bool // its agent tells of a pool
	// askedOthers: at an error of its allocator the drivers were asked who else holds memory.
	askedOthers bool
	calm        sample.Calm
	space       addressSpace
	held        int64 // of the host's memory, when it was read last; 0 is unknown
}

func newRecording(cfg Config, out *record.Writer, clock agent.Clock, start int64) *recording {
	return &recording{
		cfg: cfg, out: out, clock: clock, start: start,
		sampler: sample.New(sample.Options{Now: clock.Now, Interval: cfg.Interval, SplitEvery: splitEvery,
			GPU: cfg.GPU}),
		procs: map[int]*followed{}, agents: map[*agent.Conn]*connected{}, seen: map[string]bool{},
		heard: map[int]bool{}, entered: entrance{spoke: make(chan struct{}), settled: make(chan struct{})},
		marks: newMarkBudget(), phases: newMarkBudget(), lists: newMarkBudget(),
		large: newMarkBudget(),
		fresh: make(chan struct{}, 1), failed: make(chan struct{}), beat: newBeat(cfg),
	}
}

// follow adds a process to the run, or returns it. The lock is held.
func (r *recording) follow(pid int) *followed {
	if f := r.procs[pid]; f != nil {
		return f
	}
	f := &followed{pid: pid, gpu: probe.Unknown, rate: newBucket(rowsPerSecond, rowsPerSecond/4),
		is: unknownProcess, calm: sample.NewCalm(r.clock.Now())}
	r.beat.hurry()
	var err error
	f.ps, err = r.sampler.Open(pid)
	r.unread(err)
	f.start = f.ps.Identity().Start
	r.procs[pid] = f
	r.multi = r.multi || (r.main != 0 && pid != r.main)
	name, rank := seenFromOutside(pid, r.out.MaskCommand)
	r.introduce(f, name, rank)
	return f
}

// forget drops the processes that have gone, except the program itself.
func (r *recording) forget() {
	for pid, f := range r.procs {
		if !f.ps.Alive() && pid != r.main && !r.hasAgent(pid) {
			r.droppedGone += f.dropped
			r.tellCut(f)
			r.kill.tell(r, f)
			if f.space.nearLimit() {
				f.tellSpace(r)
			}
			delete(r.procs, pid)
			r.left = append(r.left, probe.Identity{PID: pid, Start: f.start})
		}
	}
}

// unread warns of a process that cannot be read; that one has gone is no news. The
// lock is held.
func (r *recording) unread(err error) {
	if err != nil && !errors.Is(err, probe.ErrExited) {
		r.warnLocked(err.Error())
	}
}

// row writes one row of a process at time at, with the cells of an agent if
// there are any. The lock is held.
func (r *recording) row(f *followed, at int64, told []record.Cell) {
	if r.ended {
		return
	}
	cells := r.cells[:0]
	if r.multi {
		cells = append(cells, record.Cell{Column: record.ColPID, Value: int64(f.pid)})
	}
	if f.stepped {
		cells = append(cells, record.Cell{Column: record.ColStep, Value: f.step})
	}
	now := r.clock.Now()
	cells, alive, gpuTold := r.outside(f, at, now, cells)
	f.space.look(f.pid, now)
	if m := f.ps.Memory(); alive {
		f.held = max(m.Footprint, m.Anon, 0)
	}
	r.noteBefore(f, told)
	if !alive && len(told) == 0 {
		return
	}
	for _, c := range told {
		if !reserved(c.Column) && !(gpuTold && isGPU(c.Column)) {
			cells = append(cells, c)
		}
	}
	r.cells = cells
	if f.calm.Take(now, cells) {
		r.beat.hurry()
	}
	at = max(at, r.lastTime+int64(time.Microsecond)) // t_ms has microseconds
	r.lastTime, f.lastRow = at, at
	row := record.Row{T: time.Duration(at - r.start), Cells: cells}
	r.noteWrite(r.out.Sample(row))
	r.show(f, row, len(told) > 0)
}

// outside appends what is seen of a process from outside, which is of now, to a row of
// time at; nothing when that is too long ago. The lock is held.
func (r *recording) outside(
	f *followed, at, now int64, cells []record.Cell) (_ []record.Cell, alive, gpuTold bool) {
	if r.sampler.Late(at+r.beat.slack(), now) {
		return cells, false, false
	}
	before := len(cells)
	cells, err := f.ps.Row(now, cells)
	r.unread(err)
	if gpuTold = f.ps.GPU() != probe.Unknown; gpuTold {
		f.gpu = f.ps.GPU()
	}
	cells = append(cells, r.captured(f, gpuTold)...)
	if r.sampler.Late(at, now) && f.calm.Take(now, cells[before:]) {
		// Agents are read late while nothing moves, but by now something does.
		r.beat.hurry()
		return cells[:before], false, false
	}
	return cells, err == nil, gpuTold
}

// show keeps a row of the leading process for the progress. The lock is held.
func (r *recording) show(f *followed, row record.Row, agent bool) {
	if l := r.procs[r.lead.pid]; l == nil || !l.ps.Alive() {
		r.lead.pid, r.lead.hasAgent = r.main, false
	}
	if agent && !r.lead.hasAgent {
		r.lead.pid, r.lead.hasAgent = f.pid, true
	}
	if f.pid != r.lead.pid {
		return
	}
	r.lead.row.T, r.lead.row.Cells = row.T, append(r.lead.row.Cells[:0], row.Cells...)
	select {
	case r.fresh <- struct{}{}:
	default:
	}
}

// noteWrite makes one warning of a loss that goes on.
func (r *recording) noteWrite(err error) {
	if errors.Is(err, record.ErrColumn) {
		r.warnLocked(fmt.Sprintf("a column is not recorded: %v", err))
		err = nil
	}
	if errors.Is(err, record.ErrGone) {
		r.warnLocked(goneText(err))
		err = nil
	}
	if err != nil && !r.broken {
		r.warnLocked(fmt.Sprintf("rows are lost: %v", err))
	}
	r.broken = err != nil
}

// reserved are the columns that the tracer measures itself: a program's word
// about them does not count. The step goes through the process.
func reserved(column string) bool {
	c, ok := record.ColumnOf(column)
	return ok && (c.Teller == record.TellTracer || c.Teller == record.TellProbe)
}

func isGPU(column string) bool {
	base, _, _ := record.SplitDevice(column)
	return base == record.ColGPU
}

// poll takes in what Config.Cells knows by now.
func (r *recording) poll() {
	if r.cfg.Cells == nil {
		return
	}
	err := r.cfg.Cells.Poll()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.warnLocked(err.Error())
	}
	now := r.clock.Now()
	for pid, f := range r.procs {
		if f.more = r.cfg.Cells.Cells(pid); f.more != nil {
			f.calm.Take(now, f.more)
		}
	}
}

// tellCut warns when a process ran on after its agent was cut off: it closed our
// descriptor and could not connect again, in another root or as another user,
// say. The lock is held.
func (r *recording) tellCut(f *followed) {
	if f.cutAt != 0 && f.lastRow-f.cutAt > int64(time.Second) {
		r.warnLocked(
			fmt.Sprintf(
				"process %d cut off its agent %.1f s into the run and ran on: live bytes, steps and "+
					"holders are unknown from there",
				f.pid, float64(f.cutAt-r.start)/float64(time.Second)))
	}
}

// tick takes the rows that are due by timer.
func (r *recording) tick() {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	quiet := int64(r.cfg.Interval) * 3 / 2
	for _, pid := range r.pidsLocked() {
		f := r.procs[pid]
		if f.agentAt != 0 && now-f.agentAt < quiet || !r.beat.isDue(f, now) {
			continue
		}
		r.row(f, r.clock.Now(), nil)
	}
	r.kill.look(now, false)
	r.forget()
}

// pidsLocked are the followed processes in ascending order, so that rows of one
// tick come in the same order each time.
func (r *recording) pidsLocked() []int {
	pids := make([]int, 0, 8)
	for pid := range r.procs {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

func (r *recording) pids() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pidsLocked()
}

// millis is a time of the clock as t_ms.
func (r *recording) millis(at int64) float64 {
	return float64((at-r.start)/1000) / 1000
}

// warn adds a warning to the run, once. An empty text is none.
func (r *recording) warn(text string) {
	if text == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warnLocked(text)
}

func (r *recording) warnLocked(text string) {
	text = secret.Text(text) // it is also printed
	if r.seen[text] || len(r.warnings) > maxWarnings {
		return
	}
	if len(r.warnings) == maxWarnings {
		text = "more warnings are not listed"
	}
	r.seen[text] = true
	r.warnings = append(r.warnings, text)
	r.eventLocked(record.Event{TMs: r.millis(r.clock.Now()), Kind: record.KindWarning, Text: text})
}

// eventLocked writes an event; a loss is counted by the writer.
func (r *recording) eventLocked(e record.Event) {
	if r.ended {
		return
	}
	err := r.out.Event(e)
	if errors.Is(err, record.ErrGone) {
		r.warnLocked(goneText(err))
	} else if err != nil && e.Kind != record.KindWarning {
		r.warnLocked(fmt.Sprintf("events are lost: %v", err))
	}
}

// goneText says that the file system came back without what it had not kept.
func goneText(err error) string { return fmt.Sprintf("the run folder was away: %v", err) }

// close lets go of the processes.
func (r *recording) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.procs {
		f.ps.Close() //nolint:errcheck // files that were only read
	}
}
