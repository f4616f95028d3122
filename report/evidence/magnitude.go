package evidence

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// A run shorter than trend.LeastRows has no trend test. A growth is then
// suspected by its size alone, and only when it is plain: it never falls, it
// goes on to the end, it is at least leastMagnitude, and it at least doubles
// what there was.
const (
	leastMagnitude = 64 * mib
	MinRows        = 3
	lastPart       = .1 // of the growth that the last stretch must still bring
	leastSpan      = 2. // seconds: every program grows while it starts
)

// findMagnitude is what the size of the growth tells of a run that is too short
// for a trend; nil of a longer one.
func findMagnitude(x *growth.Examined) *finding.Finding {
	if !x.Short {
		return nil
	}
	l := x.Judged
	n := len(l.Clock)
	f := &finding.Finding{Of: series.Keys}
	f.Why = fmt.Sprintf("%d samples are too few for a trend (%d are needed)", n, trend.LeastRows)
	if n == 1 {
		f.Why = fmt.Sprintf("one sample is not enough for a trend (%d are needed)", trend.LeastRows)
	}
	if n < MinRows || !l.Untimed && l.Clock[n-1]-l.Clock[0] < leastSpan {
		return f
	}
	most := float64(leastMagnitude)
	for _, k := range series.AccountKeys {
		if b := plainGrowth(l.Series[k]); b > most {
			most, f.Of = b, k
		}
	}
	if f.Of == series.Keys {
		return f
	}
	f.By, f.Owner, f.Score, f.Size, f.Why = finding.ByMagnitude, finding.OwnerOf(f.Of), .7, most, ""
	if f.Of == series.Host && x.UsesDevice() && driverSuspected(l, most) {
		f.Owner = finding.TheDriver
	}
	return f
}

// driverSuspected reports whether host memory that grew in a short run is rather
// the driver's: the program's heap was read, and grew by less than half of it. Where
// nobody read the heap nothing tells the two apart, whatever the pools do.
func driverSuspected(l *series.Accounts, bytes float64) bool {
	heap := stat.Known(l.Series[series.Heap])
	return len(heap) >= MinRows && heap[len(heap)-1]-heap[0] < bytes/2
}

// plainGrowth is the growth of a series that never falls, doubles, and still
// rises at the end; else 0.
func plainGrowth(y []float64) float64 {
	v := stat.Known(y)
	if len(v) < MinRows {
		return 0
	}
	for i := 1; i < len(v); i++ {
		if v[i] < v[i-1] {
			return 0
		}
	}
	total := v[len(v)-1] - v[0]
	if total < math.Max(v[0], 1) || v[len(v)-1]-v[len(v)-2] < lastPart*total {
		return 0
	}
	return total
}
