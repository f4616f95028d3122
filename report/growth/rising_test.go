package growth

import (
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// collectedInPart is what is live of a program of which a collector frees a part now and then, as one
// was seen to do on an H200: when it does, and MiB before and after; keeps is the part of each rise that stays.
func collectedInPart(keeps float64) *trend.Growth {
	const mib, rows = 1 << 20, 880
	falls := [][3]float64{{0, 68, 68}, {3.1, 80, 69}, {5, 80, 72}, {9.2, 99, 74.7}, {12.8, 100, 84}, {17.6, 120, 86.6},
		{29.1, 168, 130.8}, {38.5, 208, 172.3}, {44, 215, 194.8}}
	clock, live := make([]float64, rows), make([]float64, rows)
	for i := range rows {
		t := float64(i) / 20
		n := 1
		for falls[n][0] < t {
			n++
		}
		before, next := falls[n-1], falls[n]
		level := before[2] + (next[1]-before[2])*(t-before[0])/(next[0]-before[0])
		clock[i], live[i] = 1000*t, mib*(level-(1-keeps)*(before[2]-68))
	}
	run := &record.Run{Samples: record.NewSamples([]string{record.ColTime, record.ColLive}, [][]float64{clock, live})}
	events := series.Indexed(nil)
	x := Examine(series.Clean(series.TracksOf(run)[0], run, events, account.Unified(""), 8*mib), trend.ForReport())
	return &x.Grow[series.Live]
}

func TestFloorsThatRiseUnderUnevenTeethAreAGrowth(t *testing.T) {
	t.Parallel()
	for keeps, want := range map[float64]bool{1: true, 0: false} {
		if g := collectedInPart(keeps); g.Growing() != want {
			t.Errorf("%g of it stays: %s", keeps, g.Shape)
		}
	}
}
