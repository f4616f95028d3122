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

func TestIdleMemoryThatComesWithEachStreamIsTheStreams(t *testing.T) {
	t.Parallel()
	rises := func(each float64, from int) []float64 {
		v := make([]float64, 100)
		for i := range v {
			v[i] = each * float64(max(0, i-from))
		}
		return v
	}
	for name, c := range map[string]struct {
		streams, idle []float64
		framework     string
		named         bool
	}{
		"together":             {rises(1, 0), rises(12*mib, 0), "cupy", true},
		"few streams":          {rises(.1, 0), rises(12*mib, 0), "cupy", false},
		"idle memory later":    {rises(1, 0), rises(12*mib, 50), "cupy", false},
		"another's pool":       {rises(1, 0), rises(12*mib, 0), "jax", false},
		"streams are not told": {nil, rises(12*mib, 0), "cupy", false},
	} {
		grows := &Case{Class: account.PoolGrowth, Confidence: 1, ByTrend: true, Size: 1200 * mib,
			Meta:        record.Meta{Versions: map[string]string{c.framework: "13"}},
			Judged:      Rows{Columns: map[string][]float64{record.ColStreams: c.streams}},
			DriverSites: []record.Site{{Site: "/app/shots.py:38 stream [stream]", Count: 80}}}
		grows.Idle.Known, grows.Idle.Judged = true, c.idle
		causes := Of(grows)
		if got := idsOf(causes); slices.Contains(got, StreamPools) != c.named {
			t.Errorf("%s: causes %v", name, got)
		}
		if c.named && causes[0].Site != "/app/shots.py:38 stream" {
			t.Errorf("%s: %+v", name, causes[0])
		}
	}
}
