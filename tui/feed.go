package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpumem/gpumem/internal/secret"
	liveset "github.com/gpumem/gpumem/report/live"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// frameEvery is how often frames are made at most, unless the view changes.
	frameEvery = 200 * time.Millisecond
	// viewGap keeps a held-down key from making a frame at each repetition.
	viewGap = 15 * time.Millisecond
	// silentAfter is without a row before a recording is called silent.
	silentAfter = 5 * time.Second
	keptEvents  = 500
	keptOutput  = 500
	keptMarks   = 64
	keptClasses = 200
	// lookShare is the part of a core, one in so many, that judging may take.
	lookShare = 100
	// keptEnded is how many processes that have ended stay on the screen.
	keptEnded = 32
)

// FeedOptions are what a Feed needs to know.
type FeedOptions struct {
	// Name is the program, as typed; Path the run folder.
	Name, Path string
	// Judging is passed on to the engine.
	Judging verdict.Options
	// State is what a running feed is called; empty is Recording.
	State State
	// Usage tells what this tool uses; nil is unknown.
	Usage func() Usage
	// Missed tells how many ticks came too late; nil is unknown.
	Missed func() (missed, lost int64)
	// NameOf names a process that is seen first; empty is unknown. It is called
	// with the feed locked. Nil leaves names to Name.
	NameOf func(pid int) string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Feed gathers rows and events and makes frames of them. It is a Source and a
// Marker; all methods are safe for concurrent use. What it keeps is bounded, the
// number of processes that run aside: of those that have ended it keeps the
// latest.
type Feed struct {
	o    FeedOptions
	wake chan struct{}

	// view is set by a screen that must not wait for the lock.
	view atomic.Pointer[View]

	mu          sync.Mutex
	live        *liveset.Set // the processes; each has a tracked beside it
	rows        int64
	elapsed     float64
	lastRow     time.Time
	rate        meter
	phase       string
	events      []record.Event
	marks       []ChartMark
	sites       []record.Site
	holders     []record.Holder
	classes     []PoolClass
	output      []OutputLine
	devices     []Device     // of the machine
	composition *Composition // nil until told
	mark        *Mark
	ended       bool
	fault       string
	warnings    int
	play        *Playback
	number      int64
	news        int64 // rows, events, lines and verdicts so far
	framed      int64 // news of the last frame
	skipped     int64
	last        time.Time // of the last frame
	cost        time.Duration
	lookCost    time.Duration
	cpu         meter
	usage       Usage
	usageAt     time.Time
}

// meter is a rate over about a second.
type meter struct {
	at    time.Time
	count float64
	rate  float64
}

func (m *meter) read(now time.Time, count float64) float64 {
	switch d := now.Sub(m.at); {
	case m.at.IsZero() || count < m.count: // played anew
		m.at, m.count, m.rate = now, count, math.NaN()
	case d >= time.Second:
		m.rate = (count - m.count) / d.Seconds()
		m.at, m.count = now, count
	}
	return m.rate
}

// NewFeed makes a Feed without a row.
func NewFeed(o FeedOptions) *Feed {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.State == "" {
		o.State = Recording
	}
	f := &Feed{o: o, wake: make(chan struct{}, 1)}
	f.live = liveset.NewSet(liveset.Options{
		Lock: &f.mu, Judging: o.Judging, Judges: liveset.Few, Share: lookShare, Most: 1,
		KeepEnded: keptEnded, Now: o.Now,
		Rows: func(n int) int { return roomOf(n).rows }, NameOf: f.nameOf(),
		Chosen: func() *liveset.Process {
			return f.chosen().process()
		}, Judged: func(cost time.Duration) {
			f.news, f.lookCost = f.news+1, cost
			f.tellTurn()
		},
	})
	f.Look(WholeView(60))
	f.reset()
	return f
}

// reset forgets all rows and events, to play anew. The lock is held, or nobody
// else has the feed yet.
func (f *Feed) reset() {
	f.live.Reset()
	f.rows, f.elapsed, f.phase = 0, 0, ""
	f.events, f.marks, f.sites, f.holders, f.classes, f.mark, f.warnings = nil, nil, nil, nil, nil, nil, 0
	f.composition = nil
}

// SetMeta takes run.json as it stands.
func (f *Feed) SetMeta(m record.Meta) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.SetMeta(m)
}

// Row takes one sample of a process; pid 0 is the main process. The feed does
// not keep cells.
func (f *Feed) Row(pid int, tMs float64, cells []record.Cell) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.row(pid, tMs, cells)
}

func (f *Feed) row(pid int, tMs float64, cells []record.Cell) {
	f.track(f.live.Row(pid, tMs, cells)).take(cells, f.live.Unified())
	f.rows++
	f.news++
	f.elapsed = math.Max(f.elapsed, tMs)
	f.lastRow = f.o.Now()
}

// Event takes an event of the run.
func (f *Feed) Event(e record.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.event(e)
}

func (f *Feed) event(e record.Event) {
	f.news++
	f.elapsed = math.Max(f.elapsed, e.TMs)
	f.live.Event(e)
	switch e.Kind {
	case record.KindStep, record.KindGenerations, record.KindHostSites, record.KindBlockSites:
		return // one each step would hide the rest; the others are evidence for the verdict, and no news
	case record.KindPhase:
		f.phase = clean(e.Name)
		f.chartMark(ChartMark{AtMs: e.TMs})
	case record.KindSites:
		f.sites = e.Sites
	case record.KindHolders:
		f.holders = e.Holders
	case record.KindComposition:
		f.composed(&e)
	case record.KindProcess:
		if e.Name != "" { // what runs in it by now: a launcher becomes its program
			f.live.Process(e.PID).Name = clean(e.Name)
		}
	case record.KindWarning:
		f.warnings++
	}
	f.classesOf(&e)
	f.events = keep(f.events, e, keptEvents)
}

// classesOf takes the size classes that an event may tell in its Detail, which
// is not kept: it may be long.
func (f *Feed) classesOf(e *record.Event) {
	if len(e.Detail) == 0 {
		return
	}
	var d struct {
		Classes []PoolClass `json:"classes"`
	}
	if json.Unmarshal(e.Detail, &d) == nil && len(d.Classes) > 0 {
		f.classes = d.Classes[:min(len(d.Classes), keptClasses)]
		slices.SortStableFunc(f.classes, func(a, b PoolClass) int {
			return cmp.Compare(b.idleBytes(), a.idleBytes())
		})
	}
	e.Detail = nil
}

func (f *Feed) chartMark(m ChartMark) { f.marks = keep(f.marks, m, keptMarks) }

// keep appends to a list that frames share: what is there is never changed,
// and a list that has grown to twice its bound is copied anew.
func keep[T any](list []T, x T, most int) []T {
	if len(list) >= 2*most {
		list = append(make([]T, 0, 2*most), list[len(list)-most:]...)
	}
	return append(list, x)
}

func tail[T any](list []T, most int) []T { return list[max(len(list)-most, 0):len(list):len(list)] }

// Output takes a line that the program wrote.
func (f *Feed) Output(stderr bool, line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news++
	f.output = keep(f.output, OutputLine{Err: stderr, Text: clean(secret.Line(line))}, keptOutput)
}

// Mark remembers the present values under a name.
func (f *Feed) Mark(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mark = &Mark{Name: name, AtMs: f.elapsed, Step: math.NaN()}
	for x := range f.live.All() {
		p := f.track(x)
		p.all.marked = p.all.now
		for _, l := range p.devices {
			l.marked = l.now
		}
	}
	if p := f.chosen(); p != nil {
		f.mark.Step = p.step
	}
	f.chartMark(ChartMark{AtMs: f.elapsed, Mine: true})
	f.due()
}

// End says that no more rows come.
func (f *Feed) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setEnded(true)
	f.due()
}

// setEnded says whether more rows come. The lock is held.
func (f *Feed) setEnded(ended bool) {
	f.ended = ended
	f.live.End(ended)
}

// Judge looks at the processes until ctx is done, in the caller's goroutine, and
// rests in between so that it takes no more than a hundredth of a core.
func (f *Feed) Judge(ctx context.Context) { f.live.Judge(ctx) }

// Fault says what stopped the reading.
func (f *Feed) Fault(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = clean(text)
	f.due()
}

// Look implements Source.
func (f *Feed) Look(v View) {
	v.Columns = min(max(v.Columns, 1), 2000)
	f.view.Store(&v)
	f.due()
}

// due makes a frame due at once.
func (f *Feed) due() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Next implements Source. It counts the frames that were due before somebody
// asked. While nothing comes, a frame a second is enough.
func (f *Feed) Next(ctx context.Context) (*Frame, error) {
	f.mu.Lock()
	late := f.o.Now().Sub(f.last)
	if !f.last.IsZero() && !f.ended {
		f.skipped += max(int64(late/frameEvery)-1, 0)
	}
	f.mu.Unlock()
	if err := f.wait(ctx, frameEvery-late, viewGap-late); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.framed = f.o.Now(), f.news
	return f.frame(f.last), nil
}

// wait waits until a frame is due: after next when there is news, at once but
// for soonest when the view has changed.
func (f *Feed) wait(ctx context.Context, next, soonest time.Duration) error {
	timer := time.NewTimer(next)
	defer timer.Stop()
	for quiet := 0; ; quiet++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			f.mu.Lock()
			news := f.news != f.framed
			f.mu.Unlock()
			if news || quiet*int(frameEvery) >= int(time.Second) {
				return nil
			}
			timer.Reset(frameEvery)
		case <-f.wake:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(soonest):
				return nil
			}
		}
	}
}
