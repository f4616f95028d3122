package main

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestAThinnedRunIsJudgedAsTheWhole(t *testing.T) {
	t.Parallel()
	keeps := []keep{{record.LeastKeep, 1}, {record.DefaultKeep, 64}}
	equal, thinned := 0, 0
	const traces = 8
	for i := range traces {
		for _, o := range compare(corpus.LongOne(corpus.Publish, 37*i+1, 64), keeps) {
			if o.left < o.rows {
				thinned++
			}
			if o.equal {
				equal++
			} else {
				t.Log(o.change)
			}
		}
	}
	if equal < 2*traces-1 || thinned < traces/2 {
		t.Errorf("%d of %d verdicts are equal, %d runs were thinned", equal, 2*traces, thinned)
	}
}

func TestNoRecordingIsJudgedAnotherWayWithinTheLeastBound(t *testing.T) {
	t.Parallel()
	recorded, err := recordings([]string{"../../../report", "../../../tracer", "../../../cmd"})
	if err != nil || len(recorded) < 28 {
		t.Fatal(len(recorded), err)
	}
	for _, r := range recorded {
		for _, o := range compare(r, []keep{{record.LeastKeep, 1}, {record.DefaultKeep, 64}}) {
			if !o.equal {
				t.Error(o.change)
			}
		}
	}
}

func TestTheTableSaysHowManyVerdictsAreEqual(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	e := evaluation{out: &out, changes: true}
	e.print("synthetic", 4, []keep{{record.LeastKeep, 1}}, func(i int) *corpus.Trace { return corpus.One(1, i) })
	if !strings.Contains(out.String(), "4 traces  equal 100.00 %") {
		t.Error(out.String())
	}
}
