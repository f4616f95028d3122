package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestIdleMemoryOfManyStreamsIsTheStreams(t *testing.T) {
	t.Parallel()
	of := func(idle ...int64) []record.Pool {
		var list []record.Pool
		for i, bytes := range idle {
			list = append(list, record.Pool{Kind: "large", Stream: int64(i), Idle: bytes * mib})
		}
		return list
	}
	private := of(40, 30, 30, 30, 30)
	for i := range private {
		private[i].Private = true
	}
	for name, c := range map[string]struct {
		pools []record.Pool
		named bool
	}{
		"five streams":           {of(40, 30, 30, 30, 30), true},
		"one, and a little":      {of(150, 1, 1, 1, 1), false},
		"two":                    {of(80, 80), false},
		"graphs with their own":  {private, false},
		"less than what grew":    {of(4, 3, 3, 3, 3), false},
		"nobody told":            {nil, false},
		"small and large of one": {append(of(80), of(80)...), false},
	} {
		grows := &Case{Class: account.PoolGrowth, Confidence: 1, ByTrend: true, Size: 150 * mib,
			Pools: c.pools}
		grows.Idle.Known = true
		if got := idsOf(Of(grows)); slices.Contains(got, StreamPools) != c.named {
			t.Errorf("%s: causes %v", name, got)
		}
	}
}
