package verdict

import (
	"cmp"
	"slices"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Defaults of Options.
const defaultLeftover = mib

func (o Options) leftover() float64 {
	if o.LeftoverBytes > 0 {
		return float64(o.LeftoverBytes)
	}
	return defaultLeftover
}

// Judge answers for a run: whose memory grows, how sure that is, what drives
// it and when it runs out. It is pure and deterministic, does not change the
// run, and does not panic on any samples. A nil run or one without rows is
// undecided. Of several processes each is judged and the worst decides.
func Judge(run *record.Run, o Options) *Verdict {
	if run == nil {
		run = &record.Run{}
	}
	var worst *subject
	all := subjects(run, o, trend.ForReport())
	judged := 0
	for _, s := range all {
		if !s.short {
			judged++
		}
	}
	for _, s := range all {
		if s.short && s.class == Undecided && judged > 0 {
			continue // a child that came and went does not decide over the others
		}
		if worst == nil || s.worse(worst) {
			worst = s
		}
	}
	if worst == nil {
		return empty(run)
	}
	v := worst.verdict()
	if len(all) > 1 {
		v.PID = worst.pid
		for _, s := range all {
			if s.class == Undecided && len(s.whole.clock) < minRows {
				continue // came and went between two samples
			}
			row := ProcessRow{PID: s.pid, Verdict: s.class, Tier: s.tier(), Confidence: stat.Round(s.confidence)}
			row.introduce(run.Events)
			v.Processes = append(v.Processes, row)
		}
	}
	return v
}

// introduce takes from the events what the process is called and its rank.
func (row *ProcessRow) introduce(events []record.Event) {
	for i := range events {
		if e := &events[i]; e.Kind == record.KindProcess && e.PID == row.PID {
			row.Name = cmp.Or(e.Name, row.Name)
			row.Rank = cmp.Or(e.Rank, row.Rank)
		}
	}
}

// empty is the verdict on a run without rows.
func empty(run *record.Run) *Verdict {
	const claim = "the run has no samples with a usable time."
	return &Verdict{
		Schema: 1, Verdict: Undecided, Tier: TierUndecided,
		Summary: sentence(string(Undecided), claim), Claim: claim,
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
		if e.Kind == record.KindWarning && e.Text != "" && !slices.Contains(out, e.Text) && len(out) < mostWarnings {
			out = append(out, e.Text)
		}
	}
	return out
}
