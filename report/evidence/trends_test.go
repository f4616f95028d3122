package evidence

import (
	"testing"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

func TestWhoseAGrowthIsFollowsFromTheGrowthsAlone(t *testing.T) {
	t.Parallel()
	grows := func(amount float64) trend.Growth {
		return trend.Growth{Known: true, Shape: trend.Growing, Rate: amount, Span: 1, Evidence: 3}
	}
	for name, c := range map[string]struct {
		grow  growth.Growths
		host  hostEvidence
		of    series.Key
		owner finding.Owner
	}{
		"live bytes": {growth.Growths{series.Live: grows(9 * mib)}, hostEvidence{}, series.Live,
			finding.TheProgram},
		"more idle bytes": {growth.Growths{series.Live: grows(mib), series.Idle: grows(9 * mib)},
			hostEvidence{},
			series.Idle, finding.ThePool},
		"beside the books": {growth.Growths{series.Untracked: grows(9 * mib), series.Host: grows(mib)},
			hostEvidence{},
			series.Untracked, finding.TheDriver},
		"host memory without a device": {growth.Growths{series.Host: grows(9 * mib)}, hostEvidence{},
			series.Host,
			finding.TheHost},
		"host memory that a driver first touches": {growth.Growths{series.Host: grows(9 * mib)},
			hostEvidence{device: true, touched: finding.TheDriver}, series.Host, finding.TheDriver},
		"host memory, and a heap that stands still": {growth.Growths{series.Host: grows(9 * mib)},
			hostEvidence{device: true, heapRead: true, heap: &trend.Growth{Known: true}}, series.Host,
			finding.TheDriver},
		"host memory that was pinned": {growth.Growths{series.Host: grows(9 * mib)},
			hostEvidence{device: true, touched: finding.TheDriver, pinned: true}, series.Host,
			finding.TheHost},
		"device memory of nobody": {growth.Growths{series.Device: grows(9 * mib)}, hostEvidence{},
			series.Device,
			finding.Unknown},
	} {
		rows := &series.Accounts{Track: &series.Track{}}
		f, _ := findTrend(&Trends{grow: &c.grow, rows: rows, host: c.host})
		if f.Of != c.of || f.Owner != c.owner || (f.Why != "") != (c.owner == finding.Unknown) {
			t.Errorf("%s: %+v, want the series %v of %v", name, f, c.of, c.owner)
		}
	}
}
