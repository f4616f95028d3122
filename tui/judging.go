package tui

import (
	"context"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// lookEvery is between two looks at the chosen process at least.
	lookEvery = time.Second
	// lookShare is the part of a core that judging may take: after a look of a
	// millisecond it rests a hundred.
	lookShare = 100
	// lookGrowth is how much longer a process other than the chosen one must
	// have been watched for another look.
	lookGrowth = 1.25
	// firstRows and firstMs come before the first look: a program that sets
	// itself up looks like one that leaks.
	firstRows = 40
	firstMs   = 2000
	// alarmRows come before the Monitor's first look: without them "no alarm"
	// would say more than is known.
	alarmRows = 120
	// pendingRows bounds the rows on their way to the Monitor.
	pendingRows = 20000
)

// watch is the part of a Feed that judges. Few processes are judged each; of
// many the Monitor raises alarms, because it holds the rate of false ones.
type watch struct {
	many    bool
	monitor *verdict.Monitor // the goroutine of Judge has it alone
	pending []pendingRow
	gone    []int
	cost    time.Duration
}

type pendingRow struct {
	pid   int
	tMs   float64
	cells []record.Cell
}

func newWatch(o verdict.Options) watch { return watch{monitor: verdict.NewMonitor(o)} }

// note keeps a row for the Monitor when processes are many. The lock is held.
func (w *watch) note(pid int, tMs float64, cells []record.Cell, processes int) {
	w.many = w.many || processes > fewProcesses
	if w.many && len(w.pending) < pendingRows {
		w.pending = append(w.pending, pendingRow{pid, tMs, append([]record.Cell(nil), cells...)})
	}
}

func (w *watch) forget(pid int) {
	if w.many {
		w.gone = append(w.gone, pid)
	}
}

// Judge looks at the processes until ctx is done, in the caller's goroutine,
// and rests in between so that it takes no more than a hundredth of a core.
func (f *Feed) Judge(ctx context.Context) {
	for {
		began := time.Now()
		f.judgeChosen()
		f.judgeOthers()
		rest := max(lookEvery/4, lookShare*time.Since(began))
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(rest, 10*time.Second)):
		}
	}
}

// judgeChosen looks at the process on the screen, if it is due.
func (f *Feed) judgeChosen() {
	f.mu.Lock()
	p := f.chosen()
	ready := p != nil && p.count > p.judgeN && (f.ended || p.ripe() && !f.o.Now().Before(p.nextLook))
	f.mu.Unlock()
	if ready {
		f.judge(p)
	}
}

// ripe reports whether a process was seen for long enough for a first look.
func (p *tracked) ripe() bool { return p.count >= firstRows && p.lastMs-p.firstMs >= firstMs }

// judge looks at one process. Only the copying holds the lock.
func (f *Feed) judge(p *tracked) {
	f.mu.Lock()
	run, at, n := f.run(p), p.lastMs, p.count
	f.mu.Unlock()
	began := f.o.Now()
	v := verdict.Judge(run, f.o.Judging)
	cost := f.o.Now().Sub(began)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch.cost = cost
	f.news++
	p.judgeN = n
	p.nextLook = f.o.Now().Add(max(lookEvery, lookShare*cost))
	p.nextMs = p.firstMs + (at-p.firstMs)*lookGrowth
	p.judged.take(v, at)
	p.judged.Watched = false
}

// take notes a verdict and whether it turned.
func (j *Judged) take(v *verdict.Verdict, atMs float64) {
	if before := j.Verdict; before != nil && before.Verdict == v.Verdict {
		j.Same++
	} else {
		j.Same = 1
		turns := append(append([]Turn(nil), j.Turns...), Turn{atMs, v.Verdict, v.Tier})
		j.Turns = turns[max(len(turns)-keptTurns, 0):]
	}
	j.Verdict, j.AtMs = v, atMs
	j.Looks++
}

// judgeOthers looks at one more process when they are few, else at the alarms.
func (f *Feed) judgeOthers() {
	f.mu.Lock()
	if f.watch.many {
		pending, gone := f.watch.pending, f.watch.gone
		f.watch.pending, f.watch.gone = nil, nil
		monitor := f.watch.monitor
		f.mu.Unlock()
		f.judgeMany(monitor, pending, gone)
		return
	}
	var due *tracked
	for _, pid := range f.pids {
		p := f.procs[pid]
		if p != f.chosen() && p.ripe() && p.lastMs >= p.nextMs && (due == nil || p.judged.Looks < due.judged.Looks) {
			due = p
		}
	}
	f.mu.Unlock()
	if due != nil {
		f.judge(due)
	}
}

// judgeMany gives the Monitor what came and takes its alarms.
func (f *Feed) judgeMany(monitor *verdict.Monitor, pending []pendingRow, gone []int) {
	for _, r := range pending {
		monitor.Add(r.pid, r.tMs, r.cells...)
	}
	for _, pid := range gone {
		monitor.Forget(pid)
	}
	alarms := monitor.Look()
	f.mu.Lock()
	defer f.mu.Unlock()
	raised := map[int]*verdict.Verdict{}
	for _, a := range alarms {
		raised[a.PID] = a.Verdict
	}
	chosen := f.chosen()
	for pid, p := range f.procs {
		if p == chosen {
			continue
		}
		p.judged.Watched = p.count >= alarmRows
		switch v := raised[pid]; {
		case v == nil:
			p.judged.Verdict, p.judged.Same = nil, 0
		case v != p.judged.Verdict:
			p.judged.take(v, p.lastMs)
		}
	}
}
