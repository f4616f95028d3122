package series

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Process is one process of a run, cleaned.
type Process struct {
	Run    *record.Run
	Events *Events // of the run
	Least  float64 // bytes: what was left over counts beyond it
	PID    int
	Judged *Accounts // the rows that the trend is judged on
	Whole  *Accounts // every row, before cuts
	Left   Leftovers
	Touch  *record.FirstTouch // the last one, nil when nobody looked
	Warm   bool               // that one was of the warm-up of the program, or of its device

	Short    bool // too few rows for a trend
	Starting bool // it was reading its code in up to the end
	Imports  bool // Python was importing modules when it was last asked, and the program had not ended
}

// Clean makes a process of its rows. What was left over counts beyond so many bytes.
func Clean(k *Track, run *record.Run, x *Events, unified account.Unified, least float64) Process {
	u := unified.Of(run.Meta)
	k.stepsFromMarks(x)
	p := Process{Run: run, Events: x, Least: least, PID: k.PID, Whole: newAccounts(k, u)}
	p.Left = LeftAtMarks(p.Whole, x)
	p.Touch, p.Warm = p.firstTouch()
	from, to := p.trendRows(k)
	judged := k.rows(from, to).withoutSetup(x).epoch()
	judged.closeGaps()
	ended := run.Meta.End != nil
	judged = judged.untilGivenBack().untilSteepFall(ended).teardown().untilWorkEnds().untilStepsEnd(ended)
	judged = judged.fromFirstStep()
	judged, p.Starting = judged.afterStart()
	p.Imports = run.Meta.End == nil && k.imports()
	p.Judged = newAccounts(judged, u)
	p.Short = len(judged.Clock) < trend.LeastRows
	return p
}

// A look at first touches while the program or its device warms up tells of that alone: the
// host then grew by so many times what it grew by afterwards, over so many seconds.
const (
	warmTouch  = 3.
	afterTouch = 10.
)

// firstTouch is the last recorded one of this process, and whether that was of its warm-up.
func (p *Process) firstTouch() (last *record.FirstTouch, warm bool) {
	at := 0.
	for _, e := range p.Events.About(p.PID) {
		if e.FirstTouch != nil {
			last, at = e.FirstTouch, e.TMs/1000
		}
	}
	if last == nil || last.GrowthBytes == nil || len(p.Whole.Clock) == 0 || p.Whole.Series[Host] == nil {
		return last, false
	}
	end := p.Whole.Clock[len(p.Whole.Clock)-1]
	since := at
	if end-at < afterTouch { // too little: the second half of that look is what came later
		since -= last.Seconds / 2
	}
	rate := p.Whole.Between(Host, since, end)
	return last, rate > 0 && float64(*last.GrowthBytes) > warmTouch*rate*last.Seconds
}

// Experiments are the receipts as they stand, in order.
func (p *Process) Experiments() []record.Receipt {
	var out []record.Receipt
	for _, e := range p.Events.About(p.PID) {
		if e.Receipt != nil {
			out = append(out, *e.Receipt)
		}
	}
	return out
}

// Holders are the last recorded ones.
func (p *Process) Holders() []record.Holder {
	var out []record.Holder
	for _, e := range p.Events.About(p.PID) {
		if e.Kind == record.KindHolders {
			out = e.Holders
		}
	}
	return withoutTraceback(out)
}

// OfTraceback begins the path of what only the report of the error keeps that ended
// the program.
const OfTraceback = "sys.last_traceback → "

// withoutTraceback are holders of which none is told twice: what a function held that
// an error ended is held by the error's report then, under a second path that says
// nothing of where it was filled.
func withoutTraceback(list []record.Holder) []record.Holder {
	at := map[string]int{}
	for i, h := range list {
		at[h.Path+h.Graph] = i
	}
	out, twice := slices.Clone(list), map[int]bool{}
	for i, h := range list {
		before, path, ok := strings.Cut(h.Path, OfTraceback)
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

// Clones are the last recorded ones.
func (p *Process) Clones() (out []record.Clone) {
	for _, e := range p.Events.About(p.PID) {
		if e.Kind == record.KindClones {
			out = record.ClonesOf(e)
		}
	}
	return out
}

// Sites are the last recorded ones, the program's own and those of what the driver was asked for.
// Of a program that gave most of it back as it ended, the latter are those of the last look
// before that.
func (p *Process) Sites() (own, driver []record.Site) {
	var looks [][]record.Site
	var atWork []record.Site
	for _, e := range p.Events.About(p.PID) {
		switch {
		case e.Kind == record.KindSites && len(e.Sites) > 0:
			own = e.Sites
		case e.Kind == record.KindDriverSites && e.Name == record.NameLook:
			driver = grownSince(e.Sites, looks)
			looks = append(looks, e.Sites)
			if p.worked(e.TMs / 1000) {
				atWork = driver
			}
		case e.Kind == record.KindDriverSites:
			driver = e.Sites
		}
	}
	if bytesOf(driver) < bytesOf(atWork)/2 {
		return own, atWork
	}
	return own, driver
}

// worked reports whether a moment lies before the end of the rows that are judged.
func (p *Process) worked(second float64) bool {
	n := len(p.Judged.Clock)
	return n > 0 && second <= p.Judged.Clock[n-1]
}

func bytesOf(sites []record.Site) (bytes int64) {
	for _, s := range sites {
		bytes += s.Bytes
	}
	return bytes
}

// lookBefore is how many looks before another one was when about half of the time was over.
const lookBefore = 2

// grownSince are the sites of a look with what they hold more than at an earlier one.
func grownSince(sites []record.Site, looks [][]record.Site) []record.Site {
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
