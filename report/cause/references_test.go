package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestAGraphIsCutWhereItsHolderTakesIt(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]record.Holder{
		"+ losses.append(loss.item())":      {Path: "list train.losses", Graph: "Mean outputs"},
		"+ total += loss.item()":            {Path: "train.total", Graph: "Add outputs"},
		"+ state = cell(x, state.detach())": {Path: "train.h", Graph: "Tanh outputs"},
	} {
		h.Bytes = 90 * mib
		got := Of(leak(h))
		if len(got) != 1 || got[0].ID != Graph || !slices.Contains(got[0].Change, want) {
			t.Errorf("%s: %+v", h.Path, got)
		}
	}
}

// What is kept a step may be several arrays each, as of a graph: not where the looks found
// arrays without one, for which more than a small part of it came at their pace.
func TestArraysThatWereReachedAreNoGraph(t *testing.T) {
	t.Parallel()
	growing := func(rate float64) Series {
		return Series{Growth: trend.Growth{Known: true, Shape: trend.Growing, Span: 40, Rate: rate}}
	}
	judge := func(h record.Holder) []Cause {
		c := leak(h)
		c.Live, c.Count = growing(100*mib/40), growing(100)
		c.Judged = Rows{Clock: []float64{0, 40}}
		c.Judged.Step = []float64{0, 1000}
		return Of(c)
	}
	bank := record.Holder{Path: "list main() local bank", Bytes: 2 * mib, Count: 54, OverMs: 4000, Gone: true}
	if got := judge(bank); len(got) != 0 {
		t.Errorf("reached at its pace: %+v", got)
	}
	for name, change := range map[string]func(*record.Holder){
		"outputs": func(h *record.Holder) { h.Graphs = true },
		"slow":    func(h *record.Holder) { h.OverMs = 39_000 },
		"host":    func(h *record.Holder) { h.Host = true },
	} {
		h := bank
		change(&h)
		if got := judge(h); len(got) != 1 || got[0].ID != Graph {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
