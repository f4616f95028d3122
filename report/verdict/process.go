package verdict

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// process is one process of a run, cleaned.
type process struct {
	run    *record.Run
	events *events // of the run
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
func clean(k *track, run *record.Run, x *events, o Options) process {
	u := o.Unified.Of(run.Meta)
	k.stepsFromMarks(x)
	p := process{run: run, events: x, o: o, pid: k.pid, whole: newAccounts(k, u)}
	p.left = leftAtMarks(p.whole, x)
	p.touch = p.firstTouch()
	from, to := p.trendRows(k)
	judged := k.rows(from, to).withoutSetup(x).epoch()
	judged.closeGaps()
	judged = judged.teardown().untilWorkEnds().fromFirstStep()
	judged, p.starting = judged.afterStart()
	p.judged = newAccounts(judged, u)
	p.short = len(judged.clock) < trend.LeastRows
	return p
}

// firstTouch is the last recorded one of this process.
func (p *process) firstTouch() *record.FirstTouch {
	var last *record.FirstTouch
	for _, e := range p.events.about(p.pid) {
		if e.FirstTouch != nil {
			last = e.FirstTouch
		}
	}
	return last
}

// experiments are the receipts as they stand, in order.
func (p *process) experiments() []Experiment {
	var out []Experiment
	for _, e := range p.events.about(p.pid) {
		if e.Receipt != nil {
			out = append(out, *e.Receipt)
		}
	}
	return out
}

// holders are the last recorded ones.
func (p *process) holders() []HolderRow {
	var out []HolderRow
	for _, e := range p.events.about(p.pid) {
		if e.Kind == record.KindHolders {
			out = e.Holders
		}
	}
	return withoutTraceback(out)
}

// ofTraceback begins the path of what only the report of the error keeps that ended
// the program.
const ofTraceback = "sys.last_traceback → "

// withoutTraceback are holders of which none is told twice: what a function held that
// an error ended is held by the error's report then, under a second path that says
// nothing of where it was filled.
func withoutTraceback(list []HolderRow) []HolderRow {
	at := map[string]int{}
	for i, h := range list {
		at[h.Path+h.Graph] = i
	}
	out, twice := slices.Clone(list), map[int]bool{}
	for i, h := range list {
		before, path, ok := strings.Cut(h.Path, ofTraceback)
		j, known := at[before+path+h.Graph]
		if ok && known {
			out[j].Gone, twice[i] = false, true
			out[j].Bytes, out[j].Count = max(out[j].Bytes, h.Bytes), max(out[j].Count, h.Count)
		}
	}
	kept := out[:0]
	for i := range out {
		if !twice[i] {
			kept = append(kept, out[i])
		}
	}
	return kept
}

// clones are the last recorded ones.
func (p *process) clones() (out []CloneRow) {
	for _, e := range p.events.about(p.pid) {
		if e.Kind == record.KindClones {
			out = record.ClonesOf(e)
		}
	}
	return out
}

// sites are the last recorded ones, the program's own and those of what the
// driver was asked for.
func (p *process) sites() (own, driver []SiteRow) {
	var looks [][]SiteRow
	for _, e := range p.events.about(p.pid) {
		switch {
		case e.Kind == record.KindSites && len(e.Sites) > 0:
			own = e.Sites
		case e.Kind == record.KindDriverSites && e.Name == record.NameLook:
			driver = grownSince(e.Sites, looks)
			looks = append(looks, e.Sites)
		case e.Kind == record.KindDriverSites:
			driver = e.Sites
		}
	}
	return own, driver
}

// lookBefore is how many looks before another one was when about half of the time was over.
const lookBefore = 2

// grownSince are the sites of a look with what they hold more than at an earlier one.
func grownSince(sites []SiteRow, looks [][]SiteRow) []SiteRow {
	if len(looks) < lookBefore {
		return sites
	}
	earlier := map[string]int64{}
	for _, s := range looks[len(looks)-lookBefore] {
		earlier[s.Site] = s.Bytes
	}
	out := slices.Clone(sites)
	for i := range out {
		out[i].GrowthBytes = out[i].Bytes - earlier[out[i].Site]
	}
	return out
}
