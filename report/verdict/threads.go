package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// A pool of threads starts one when all are busy, up to its bound, and each takes host
// memory: its stack, an arena of the C library, buffers of its own.
const (
	someThreads    = 3        // that must have come, to be weighed at all
	mostOfAPool    = 32       // that may have, for a pool that is not full yet
	mostOfAThread  = 16 * mib // that one takes
	asGood         = 1.1      // times the squares that a straight line leaves
	threadsExplain = .5       // of a growth, at least, where it follows the threads
)

// threadsAfter is how many threads came while host memory grew, and how many bytes that
// takes for each; ok is false where that growth does not follow them.
func threadsAfter(s *settled) (came, each float64, ok bool) {
	count := s.Judged.Cols[record.ColThreads]
	if count == nil || s.primary != series.Host && s.primary != series.Heap || s.Judged.Untimed {
		return 0, 0, false
	}
	g := &s.Grow[s.primary]
	n := series.FillForward(append([]float64(nil), count...))
	y := s.Judged.Series[s.primary]
	if n == nil {
		return 0, 0, false // nobody counted them in the rows that are judged
	}
	var clock, t, v []float64
	for i := g.From; i < len(y); i++ {
		if y[i] == y[i] && n[i] == n[i] {
			clock, t, v = append(clock, s.Judged.Clock[i]), append(t, n[i]), append(v, y[i])
		}
	}
	if len(t) == 0 {
		return 0, 0, false
	}
	came = stat.Quantile(t, 1) - t[0]
	stairs, line := stat.FitLine(t, v), stat.FitLine(clock, v)
	each = stairs.B
	if stairs.SSE > asGood*line.SSE {
		return 0, 0, false // it goes on between one thread and the next
	}
	if came < someThreads || !(each > 0) || each*came < threadsExplain*g.Amount() {
		return 0, 0, false
	}
	rest := make([]float64, len(y))
	for i := range rest {
		rest[i] = y[i] - each*n[i]
	}
	r := s.Judged.Examine(rest, s.Judged.Question(s.primary, trend.ForReport()))
	return came, each, r.Known && !r.Growing() && math.Abs(r.Amount()) < threadsExplain*g.Amount()
}

// poolFills says why a growth of host memory may be a pool of threads that fills up;
// empty of another.
func poolFills(s *settled) string {
	if s.class != HostGrowth || s.restsOn != ByTrend || hostHolder(s, s.Holders()) != nil {
		return ""
	}
	came, each, ok := threadsAfter(s)
	if !ok || came > mostOfAPool || each > mostOfAThread {
		return ""
	}
	return fmt.Sprintf("host memory rose with the %.0f threads that were started meanwhile, as a pool of threads does "+
		"until it is full", came)
}
