package evidence

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// A pool that keeps what nothing references and is emptied whole, again and
// again, has no trend: it looks bounded. If it was emptied because an allocation
// failed, only the device's end bounds it, and it retains; if the program
// empties it, it does not. Without a count of failed allocations the two are the
// same samples; of a framework's pool such a count misses those that a limit of its own refuses.
const (
	leastRefill = 64 * mib // of a filling that matters
	emptied     = .2       // of a peak that may be left
)

// refillTrust is how far a pool that fills until allocations fail is believed to
// retain.
const refillTrust = .9

// refills is how often the pool filled by and by and was emptied at once, and
// the highest it was filled. What only changes hands between live and idle
// neither fills nor empties it.
func refills(live, held []float64) (times int, peak float64) {
	idle := stat.Known(held)
	own := stat.Known(stat.Plus(live, held))
	if live == nil || len(idle) != len(own) || len(idle) < trend.LeastRows {
		return 0, 0
	}
	begin, top := 0, 0
	for i, v := range idle {
		if v >= idle[top] {
			top = i
		}
		if v > emptied*idle[top] || idle[top] < leastRefill {
			continue
		}
		fell := i-top <= trend.FallTime && own[top]-own[i] > idle[top]/2
		if fell && filled(idle[begin:top+1]) && own[top]-own[begin] > idle[top]/2 {
			times, peak = times+1, math.Max(peak, idle[top])
		}
		begin, top = i, i
	}
	if times == 1 && idle[len(idle)-1] < peak/4 {
		return 0, 0 // emptied once, for good
	}
	return times, peak
}

// filled reports whether a series rose by and by: its middle lies in the middle
// of its height, which it does not for a spike or a level.
func filled(v []float64) bool {
	if len(v) < trend.MinBlocks {
		return false
	}
	at := (stat.Median(v) - v[0]) / (v[len(v)-1] - v[0])
	return at > .25 && at < .75
}

// findRefills is a pool that fills again and again, of accounts whose idle bytes
// grow by so many; nil of another.
func findRefills(l *series.Accounts, grown float64) *finding.Finding {
	times, peak := refills(l.Series[series.Live], l.Series[series.Idle])
	if times == 0 {
		return nil
	}
	failed := stat.Rise(l.Cols[record.ColDriverFailed])
	if failed == 0 && l.AsksItself() { // the capture saw each request, and the program or the driver emptied it
		return nil
	}
	text := fmt.Sprintf("the pool fills to %s with what nothing references and is emptied, %s",
		units.Bytes(peak), often(times))
	if failed > 0 {
		return &finding.Finding{By: finding.ByRefill, Of: series.Idle, Owner: finding.ThePool,
			Score: refillTrust,
			Size:  grown,
			Why: text + fmt.Sprintf(", while %.0f allocations failed: ", failed) +
				"only the device's end bounds it"}
	}
	const open = "; whether the program empties it on purpose or because its requests fail was not recorded"
	return &finding.Finding{Of: series.Keys, Lacking: true, Why: text + open}
}

func often(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
