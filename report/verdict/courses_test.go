package verdict

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// An agent that leaves is asked once more. Where it looked shortly before, it tells what
// that look found again: the cause that needs a path to rise must not be lost by it.
func TestALookThatTellsTheLastOneAgainIsNone(t *testing.T) {
	t.Parallel()
	p := newProgram(400).grows(record.ColRSS, 50*mib, 16*kib, mib/20)
	run := p.run()
	var last record.Event
	for _, second := range []float64{3, 5, 9, 17} {
		last = record.Event{TMs: second * 1000, Kind: record.KindHolders, Holders: []record.Holder{{
			Path: "list jobs.results[…]._result", Bytes: int64(second * .4 * mib), Count: int64(second * 10),
			Length: int64(second * 20), OverMs: second * 500}}}
		run.Events = append(run.Events, last)
	}
	causes := func() []string {
		var ids []string
		for _, c := range Judge(run, Options{}).Causes {
			ids = append(ids, c.ID)
		}
		return ids
	}
	if got := causes(); !slices.Contains(got, "results-kept") {
		t.Fatalf("causes %v", got)
	}
	last.TMs = 19_000
	run.Events = append(run.Events, last)
	if got := causes(); !slices.Contains(got, "results-kept") {
		t.Errorf("after the same once more: causes %v", got)
	}
}
