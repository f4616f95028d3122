package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// sways is a pool that takes blocks of some sizes, in MiB, one at a time, while so much of what it has is live
// for a moment, and nothing at others.
func sways(most float64, sizes ...float64) *Case {
	live, idle, misses := []float64{0, most * mib}, []float64{100 * mib, (100 - most) * mib}, []float64{0, 0}
	reserved := 100.
	for i, size := range sizes {
		reserved += size
		live = append(live, 0, most*mib)
		idle = append(idle, reserved*mib, (reserved-most)*mib)
		misses = append(misses, float64(i+1), float64(i+1))
	}
	return &Case{Class: account.PoolGrowth, Confidence: 1, ByTrend: true, Size: (reserved - 100) * mib,
		Judged: Rows{Columns: map[string][]float64{
			record.ColLive: live, record.ColIdle: idle, record.ColPoolMisses: misses}}}
}

func TestAPoolInPiecesTakesBlocksOfASizeThatItHasIdleManyTimes(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		c     *Case
		named bool
	}{
		"blocks of one size":              {sways(60, 16, 16, 16, 16, 16, 16, 16, 16), true},
		"one other among many":            {sways(60, 16, 16, 16, 20, 16, 16, 16, 16), true},
		"no more than was live at a time": {sways(190, 16, 16, 16, 16, 16, 16, 16, 16), false},
		"behind small ones":               {sways(60, 2, 2, 2, 2, 2, 2, 2, 2, 2, 16, 16, 16, 16, 16, 16, 16, 16), true},
		"beside as many other ones":       {sways(60, 16, 9, 16, 9, 16, 9, 16, 9, 16, 9, 16, 9), false},
		"sizes that climb":                {sways(60, 16, 18, 20, 22, 24, 26, 28, 30), false},
		"too few":                         {sways(60, 16, 16, 16, 16, 16), false},
	} {
		if got := idsOf(Of(x.c)); slices.Contains(got, PoolFragmented) != x.named ||
			x.named && slices.Contains(got, Policy) {
			t.Errorf("%s: causes %v", name, got)
		}
	}
}

func TestPoolsThatAProgramMakesAndKeepsAreItsOwn(t *testing.T) {
	t.Parallel()
	pools := record.Holder{Path: "MemoryPool objects below main() local office.bills", Count: 31, Length: 31,
		OverMs: 19_000, Filled: "/srv/tank.py:100 handle"}
	for name, x := range map[string]struct {
		change func(*record.Holder)
		named  bool
	}{
		"pools of jobs":      {func(*record.Holder) {}, true},
		"a few":              {func(h *record.Holder) { h.Count = 3 }, false},
		"others":             {func(h *record.Holder) { h.Path = "Texture objects below main() local office.bills" }, false},
		"gone since the end": {func(h *record.Holder) { h.Gone, h.OverMs = true, 0 }, false},
	} {
		c, h := sways(60, 16, 16, 16, 16, 16, 16, 16, 16), pools
		x.change(&h)
		c.Holders = []record.Holder{h}
		got := Of(c)
		if ids := idsOf(got); slices.Contains(ids, OwnPools) != x.named || x.named && got[0].Site != h.Filled {
			t.Errorf("%s: causes %+v", name, got)
		}
	}
}
