package growth

import (
	"testing"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// firstUses is host memory in MiB of a program without a fault in the first seconds of its device, as it was
// seen on an H200: seconds, and what it had from then on.
var firstUses = [][2]float64{{0, 959.5}, {.1, 961}, {.3, 962.6}, {.8, 966.6}, {1.5, 967.9}, {2.2, 967.1}, {3, 968.7},
	{3.5, 968.9}}

// hostOfYoungDevice is the trend of such memory times a factor, judged after so many seconds.
func hostOfYoungDevice(seconds, factor float64) *trend.Growth {
	rows := int(seconds * 28)
	clock, device, host := make([]float64, rows), make([]float64, rows), make([]float64, rows)
	at := 0
	for i := range rows {
		t := float64(i) / 28
		for at+1 < len(firstUses) && firstUses[at+1][0] <= t {
			at++
		}
		clock[i], device[i], host[i] = 1000*t, 700*mib, mib*(959.5+factor*(firstUses[at][1]-959.5))
	}
	run := &record.Run{Samples: record.NewSamples([]string{record.ColTime, record.ColGPU, record.ColRSS},
		[][]float64{clock, device, host})}
	x := Examine(series.Clean(series.TracksOf(run)[0], run, series.Indexed(nil), "", mib), trend.ForReport())
	return &x.Grow[series.Host]
}

// The first uses of libraries are noise on the host while a device is young: that is no growth unseen, unless
// it is large.
func TestHostMemoryOfAYoungDeviceStandsStillWhereAGrowthWouldHaveBeenSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seconds, factor float64
		want            trend.Shape
	}{
		"as it was": {5.5, 1, trend.Flat},
		"30 times":  {5.5, 30, trend.ShapeUndecided},
	} {
		if g := hostOfYoungDevice(c.seconds, c.factor); g.Shape != c.want {
			t.Errorf("%s: %s, %+v", name, g.Shape, g)
		}
	}
}
