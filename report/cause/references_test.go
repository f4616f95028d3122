package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/account"
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

// A program whose samples are too few for a trend leaves what it leaked: small handles by the
// thousand are no clones, unless more references than handles are left.
func TestSmallHandlesLeftByTheThousandAreNoClones(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		handles, refs, each float64
		want                string
	}{
		"small":  {135_024, 135_024, 16 * kib, HandleLeak},
		"large":  {201, 201, 10 * mib, Clone},
		"few":    {12, 12, 16 * kib, Clone},
		"cloned": {5_000, 10_000, 16 * kib, Clone},
	} {
		c := &Case{Class: account.AppLeak, Confidence: .97, ByLeftover: true}
		c.Count.Left, c.Refs.Left, c.Live.Left = x.handles, x.refs, x.handles*x.each
		if got := Of(c); len(got) != 1 || got[0].ID != x.want {
			t.Errorf("%s: %+v, want %s", name, got, x.want)
		}
	}
}

func TestGraphsWithoutANameAreThoseOfGradientsThatReferToEachOther(t *testing.T) {
	t.Parallel()
	cycle := record.Holder{Path: "cycle of tensors and their gradients with graphs", Bytes: 47 * mib, Count: 676,
		Filled: "/srv/app/fern.py:51 sharpness"}
	of := func(path string, bytes, count int64) []string {
		c := leak(cycle, record.Holder{Path: path, Graph: "Addmm outputs", Bytes: 35 * mib, Count: 156})
		c.Holders[0].Bytes, c.Holders[0].Count = bytes*mib, count
		return idsOf(Of(c))
	}
	if ids := of("Tensor", 47, 676); len(ids) == 0 || ids[0] != Cycle || slices.Contains(ids, Graph) {
		t.Errorf("%v", ids)
	}
	if ids := of("list main() local losses", 47, 676); !slices.Contains(ids, Graph) {
		t.Errorf("it has a name: %v", ids)
	}
	if ids := of("Tensor", 5, 676); len(ids) == 0 || ids[0] != Cycle || slices.Contains(ids, Graph) {
		t.Errorf("they are small, and many: %v", ids)
	}
	if ids := of("Tensor", 10, 60); !slices.Contains(ids, Graph) {
		t.Errorf("there are hardly any gradients: %v", ids)
	}
}
