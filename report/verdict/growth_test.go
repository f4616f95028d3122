package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/trend"
)

func TestWhoseAGrowthIsFollowsFromTheGrowthsAlone(t *testing.T) {
	t.Parallel()
	grows := func(amount float64) trend.Growth {
		return trend.Growth{Known: true, Shape: trend.Growing, Rate: amount, Span: 1, Evidence: 3}
	}
	for name, c := range map[string]struct {
		grow  growths
		host  hostEvidence
		of    key
		owner owner
	}{
		"live bytes":      {growths{keyLive: grows(9 * mib)}, hostEvidence{}, keyLive, theProgram},
		"more idle bytes": {growths{keyLive: grows(mib), keyIdle: grows(9 * mib)}, hostEvidence{}, keyIdle, thePool},
		"beside the books": {growths{keyUntracked: grows(9 * mib), keyHost: grows(mib)}, hostEvidence{},
			keyUntracked, theDriver},
		"host memory without a device": {growths{keyHost: grows(9 * mib)}, hostEvidence{}, keyHost, theHost},
		"host memory that a driver first touches": {growths{keyHost: grows(9 * mib)},
			hostEvidence{device: true, touched: theDriver}, keyHost, theDriver},
		"host memory, and a heap that stands still": {growths{keyHost: grows(9 * mib)},
			hostEvidence{device: true, heapRead: true, heap: &trend.Growth{Known: true}}, keyHost, theDriver},
		"host memory that was pinned": {growths{keyHost: grows(9 * mib)},
			hostEvidence{device: true, touched: theDriver, pinned: true}, keyHost, theHost},
		"device memory of nobody": {growths{keyDevice: grows(9 * mib)}, hostEvidence{}, keyDevice, unknown},
	} {
		rows := &accounts{track: &track{}}
		f, _ := findTrend(&trends{grow: &c.grow, rows: rows, host: c.host})
		if f.of != c.of || f.owner != c.owner || (f.why != "") != (c.owner == unknown) {
			t.Errorf("%s: %+v, want the series %v of %v", name, f, c.of, c.owner)
		}
	}
}
