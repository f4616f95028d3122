package verdict

import (
	"cmp"
	"slices"

	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Judge answers for a run: whose memory grows, how sure that is, what drives
// it and when it runs out. It is pure and deterministic, does not change the
// run, and does not panic on any samples. A nil run or one without rows is
// undecided. Of several processes each is judged and the worst decides.
func Judge(run *record.Run, o Options) *Verdict {
	if run == nil {
		run = &record.Run{}
	}
	v, about := judgeGrowth(run, o)
	v.tellPeak(run, about)
	return v
}

// judgeGrowth answers whose memory grows, and which process that is about; nil of a run
// without rows.
func judgeGrowth(run *record.Run, o Options) (*Verdict, *settled) {
	all := judgeAll(run, o, trend.ForReport())
	worst := worstOf(judgedAmong(all))
	if worst == nil {
		return empty(run), nil
	}
	if tree := decideTree(all, worst); tree != nil {
		worst = tree
	}
	v := worst.verdict()
	for _, t := range inTurns(all) { // first: what is cut off at the end of a list must not be this
		v.Warnings = append(t.notes(), v.Warnings...)
	}
	if len(all) > 1 {
		v.PID = worst.PID
		v.Processes = processRows(all)
		v.Tree = treeOf(all, v.Measured)
		v.LeftBehind = leftBehind(all, run.Events)
	}
	return v, worst
}

// judgeAll cleans, examines and judges every process of a run, in order of pid.
func judgeAll(run *record.Run, o Options, c trend.Conditions) []*settled {
	var out []*settled
	events := series.Indexed(run.Events)
	for _, k := range series.TracksOf(run) {
		x := growth.Examine(series.Clean(k, run, events, o.Unified, o.leftover()), c)
		out = append(out, decide(x, evidence.Find(x)))
	}
	return out
}

// judgedAmong are the processes that may decide over all: none that ran in turns. What is
// open about a child that came and went, or that is young when the run ends, leaves the
// whole open only where no other process was there for longer.
func judgedAmong(all []*settled) []*settled {
	all = withoutTurns(all)
	longest := 0.
	for _, s := range all {
		longest = max(longest, s.Lived())
	}
	const brief = 1. / 4 // of the life of the one that lived longest
	// A program that starts for long, as one that reads a mapped file, may be judged all the same.
	passing := func(s *settled) bool {
		return s.Short || s.Lived() < brief*longest || s.Starting && s.class == Undecided
	}
	if !slices.ContainsFunc(all, func(s *settled) bool { return !passing(s) }) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *settled) bool {
		return passing(s) && s.class == Undecided
	})
}

// worstOf is the process that the verdict on a run is about; nil of none.
func worstOf(all []*settled) *settled {
	var worst *settled
	for _, s := range all {
		if worst == nil || s.worse(worst) {
			worst = s
		}
	}
	return worst
}

// worse orders processes: a growth before undecided before none; among growths that of
// the surer tier, then the larger, then the surer: one that is a hundred times as large
// does not come second by a hundredth of confidence. A growth that dwarfs another is
// the worse of any tier, and also while its owner is open.
func (s *settled) worse(t *settled) bool {
	least, most := min(s.size, t.size), max(s.size, t.size)
	// Handles without bytes of their own are compared by what is known of them.
	if s.grows() && t.grows() && least > 0 && most > evidence.Dwarfs*least {
		return s.size > t.size
	}
	if a, b := gravity(s.class), gravity(t.class); a != b {
		return a > b
	}
	if s.class == None {
		return s.size > t.size
	}
	if a, b := s.tier(), t.tier(); a != b {
		return s.confidence > t.confidence
	}
	if s.size != t.size {
		return s.size > t.size
	}
	return s.confidence > t.confidence
}

// processRows are the verdicts on the processes, but for those that came and went
// between two samples.
func processRows(all []*settled) []ProcessRow {
	var rows []ProcessRow
	for _, s := range all {
		if s.class == Undecided && len(s.Whole.Clock) < evidence.MinRows {
			continue
		}
		row := ProcessRow{PID: s.PID, Verdict: s.class, Tier: s.tier(), Confidence: stat.Round(s.confidence),
			Bytes: lastHeld(&s.Examined.Process)}
		row.introduce(s.Events)
		rows = append(rows, row)
	}
	return rows
}

// introduce takes from the events what the process is called and its rank.
func (row *ProcessRow) introduce(x *series.Events) {
	name, rank := x.Introduced(row.PID)
	row.Name, row.Rank = cmp.Or(name, row.Name), cmp.Or(rank, row.Rank)
}

// empty is the verdict on a run without rows.
func empty(run *record.Run) *Verdict {
	d := undecided("the run has no samples with a usable time.")
	return &Verdict{
		Schema: schema, Verdict: d.class, Tier: d.tier(),
		Answer:  sentence(string(d.class), d.why),
		Summary: sentence(string(d.class), d.why), Claim: d.why,
		Missing:  []string{"samples: none"},
		Warnings: warningTexts(run),
	}
}

// mostWarnings bounds the recorded warnings that are passed on.
const mostWarnings = 30

// warningTexts are the reader's warnings and those recorded while the program
// ran, each once.
func warningTexts(run *record.Run) []string {
	var out []string
	for _, w := range run.Warnings {
		out = append(out, w.String())
	}
	for _, e := range run.Events {
		if e.Kind == record.KindWarning && e.Text != "" && !slices.Contains(out, e.Text) &&
			len(out) < mostWarnings {
			out = append(out, e.Text)
		}
	}
	return out
}
