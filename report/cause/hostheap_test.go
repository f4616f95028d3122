package cause

import (
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// A log that keeps records between blocks that come and go makes the heap keep as much again.
func TestWhoHoldsWhatStaysComesBeforeTheHeapThatCannotShrink(t *testing.T) {
	t.Parallel()
	causes := func(inUse float64) []Cause {
		c := &Case{Class: account.HostGrowth, Confidence: 1, ByTrend: true, Size: 550 * mib, HeapKeeps: 280 * mib,
			Holders: []record.Holder{{Path: "list in list app.log.handlers[…].buffer", Kind: "log-records-kept",
				Bytes: 276 * mib, Count: 151, Host: true}}}
		c.Heap.Known, c.Heap.Rate, c.Heap.Span = true, inUse/40, 40
		return Of(c)
	}
	if got := causes(275 * mib); len(got) < 2 || got[0].ID == Fragmented || got[1].ID != Fragmented {
		t.Errorf("what is in use grows, too: %v", idsOf(got))
	}
	if got := causes(10 * mib); len(got) == 0 || got[0].ID != Fragmented {
		t.Errorf("what is in use does not grow: %v", idsOf(got))
	}
}
