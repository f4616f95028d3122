package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/report/series"
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
		of    series.Key
		owner owner
	}{
		"live bytes": {growths{series.Live: grows(9 * mib)}, hostEvidence{}, series.Live, theProgram},
		"more idle bytes": {growths{series.Live: grows(mib), series.Idle: grows(9 * mib)}, hostEvidence{},
			series.Idle, thePool},
		"beside the books": {growths{series.Untracked: grows(9 * mib), series.Host: grows(mib)},
			hostEvidence{},
			series.Untracked, theDriver},
		"host memory without a device": {growths{series.Host: grows(9 * mib)}, hostEvidence{}, series.Host,
			theHost},
		"host memory that a driver first touches": {growths{series.Host: grows(9 * mib)},
			hostEvidence{device: true, touched: theDriver}, series.Host, theDriver},
		"host memory, and a heap that stands still": {growths{series.Host: grows(9 * mib)},
			hostEvidence{device: true, heapRead: true, heap: &trend.Growth{Known: true}}, series.Host,
			theDriver},
		"host memory that was pinned": {growths{series.Host: grows(9 * mib)},
			hostEvidence{device: true, touched: theDriver, pinned: true}, series.Host, theHost},
		"device memory of nobody": {growths{series.Device: grows(9 * mib)}, hostEvidence{}, series.Device,
			unknown},
	} {
		rows := &series.Accounts{Track: &series.Track{}}
		f, _ := findTrend(&trends{grow: &c.grow, rows: rows, host: c.host})
		if f.of != c.of || f.owner != c.owner || (f.why != "") != (c.owner == unknown) {
			t.Errorf("%s: %+v, want the series %v of %v", name, f, c.of, c.owner)
		}
	}
}
