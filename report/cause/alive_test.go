package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestHandlesAreCountedUntilTheProgramGivesThemBackAtItsEnd(t *testing.T) {
	t.Parallel()
	of := func(until int) *Case {
		c := &Case{Class: account.DriverGrowth, Confidence: 1, ByTrend: true, Size: 900 * mib}
		c.Meta.Versions = map[string]string{"torch": "2.11"}
		graphs := make([]float64, 400)
		for i := range graphs[:until] {
			graphs[i] = float64(i / 4)
		}
		c.Judged.Columns = map[string][]float64{record.ColGraphs: graphs}
		c.Grows = &c.Untracked
		return c
	}
	for until, want := range map[int]bool{400: true, 380: true, 200: false} {
		if got := idsOf(Of(of(until))); slices.Contains(got, GraphPools) != want {
			t.Errorf("given back in row %d: causes %v", until, got)
		}
	}
}
