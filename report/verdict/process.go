package verdict

import (
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// process is one process of a run, cleaned.
type process struct {
	run    *record.Run
	o      Options
	pid    int
	judged *accounts // the rows that the trend is judged on
	whole  *accounts // every row, before cuts
	left   leftovers
	touch  *record.FirstTouch // the last one, nil when nobody looked

	short    bool // too few rows for a trend
	starting bool // it was reading its code in up to the end
}

// clean makes a process of its rows.
func clean(k *track, run *record.Run, o Options) process {
	u := o.Unified.Of(run.Meta)
	k.stepsFromMarks(run.Events, k.pid)
	p := process{run: run, o: o, pid: k.pid, whole: newAccounts(k, u)}
	p.left = leftAtMarks(p.whole, run.Events, p.pid)
	p.touch = p.firstTouch()
	from, to := p.trendRows(k)
	judged := k.rows(from, to).withoutSetup(run.Events, p.pid).epoch()
	judged.closeGaps()
	judged = judged.teardown().untilWorkEnds().fromFirstStep()
	judged, p.starting = judged.afterStart()
	p.judged = newAccounts(judged, u)
	p.short = len(judged.clock) < trend.LeastRows
	return p
}

// mine reports whether an event is about this process.
func (p *process) mine(e *record.Event) bool { return e.PID == 0 || p.pid == 0 || e.PID == p.pid }

// firstTouch is the last recorded one of this process.
func (p *process) firstTouch() *record.FirstTouch {
	var last *record.FirstTouch
	for i := range p.run.Events {
		if e := &p.run.Events[i]; e.FirstTouch != nil && p.mine(e) {
			last = e.FirstTouch
		}
	}
	return last
}

// experiments are the receipts as they stand, in order.
func (p *process) experiments() []Experiment {
	var out []Experiment
	for _, e := range p.run.Events {
		if e.Receipt != nil && p.mine(&e) {
			out = append(out, *e.Receipt)
		}
	}
	return out
}

// holders are the last recorded ones.
func (p *process) holders() []HolderRow {
	var out []HolderRow
	for _, e := range p.run.Events {
		if e.Kind == record.KindHolders && p.mine(&e) {
			out = e.Holders
		}
	}
	return out
}

// sites are the last recorded ones, the program's own and those of what the
// driver was asked for.
func (p *process) sites() (own, driver []SiteRow) {
	for _, e := range p.run.Events {
		switch {
		case !p.mine(&e):
		case e.Kind == record.KindSites && len(e.Sites) > 0:
			own = e.Sites
		case e.Kind == record.KindDriverSites:
			driver = e.Sites
		}
	}
	return own, driver
}
