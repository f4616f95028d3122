package main

import (
	"math"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/sample"
)

func TestAnIntervalThatWasChosenCountsForCalmProcessesToo(t *testing.T) {
	t.Parallel()
	f := defaultRunFlags()
	if got := f.calmInterval(map[string]string{}); got <= f.interval {
		t.Errorf("by default the calm interval is %s", got)
	}
	if got := f.calmInterval(map[string]string{"interval": "50ms"}); got != 0 {
		t.Errorf("beside --interval there is a calm interval of %s", got)
	}
}

// withoutCalm is a run as it would have been recorded had it had a row each 50 ms, less
// those that a calm process does not have, and how many rows are left out.
func withoutCalm(run *record.Run) (*record.Run, int) {
	names := run.Samples.Names()
	values := make([][]float64, len(names))
	calm, last, left := sample.NewCalm(0), int64(0), 0
	for i := range run.Samples.Len() {
		at := int64(i) * 50e6
		if calm.Is(at) && at-last < 225e6 {
			left++
			continue
		}
		var cells []record.Cell
		for c, name := range names {
			v := run.Samples.Column(name)[i]
			values[c] = append(values[c], v)
			if name != record.ColTime && !math.IsNaN(v) {
				cells = append(cells, record.Cell{Column: name, Value: int64(v)})
			}
		}
		calm.Take(at, cells)
		last = at
	}
	thin := *run
	thin.Samples = record.NewSamples(names, values)
	return &thin, left
}

func TestRunsAreJudgedTheSameWithoutTheRowsOfCalmTimes(t *testing.T) {
	t.Parallel()
	traces, err := corpus.Real()
	if err != nil {
		t.Fatal(err)
	}
	synthetic := 500
	if testing.Short() {
		synthetic = 200
	}
	real := len(traces)
	traces = append(traces, corpus.Generate(corpus.Publish, synthetic)...)
	same, left, rows := 0, 0, 0
	for i, trace := range traces {
		thin, n := withoutCalm(trace.Run)
		left, rows = left+n, rows+trace.Run.Samples.Len()
		before, after := verdict.Judge(trace.Run, verdict.Options{}), verdict.Judge(thin, verdict.Options{})
		switch {
		case before.Verdict == after.Verdict:
			same++
		case i < real:
			t.Errorf("%s: %s becomes %s", trace.Kind, before.Verdict, after.Verdict)
		default:
			t.Logf("%s, %s: %s becomes %s, the truth is %s", trace.Kind, trace.Regime, before.Verdict, after.Verdict,
				trace.Truth)
		}
	}
	t.Logf("%d of %d verdicts are the same, with %d of %d rows left out", same, len(traces), left, rows)
	if share := float64(same) / float64(len(traces)); share < .995 {
		t.Errorf("%.2f %% of the verdicts are the same, want 99.5", 100*share)
	}
}
