package verdict

import (
	"encoding/json"
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

// threadsAfter is how many threads came while memory grew, the host's or the driver's, and how
// many bytes that takes for each; ok is false where that growth does not follow them.
func threadsAfter(s *settled) (came, each float64, ok bool) {
	count := s.Judged.Cols[record.ColThreads]
	switch s.primary {
	case series.Host, series.Heap:
	case series.Untracked: // the system counts those that no executor has as well
		count = threadsOf(poolsOfThreads(s), s.Judged.Clock)
	default:
		return 0, 0, false
	}
	if count == nil || s.Judged.Untimed {
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

// threadPools is the name of an event that tells of the threads of all executors.
const threadPools = "thread pools"

// pool is what an executor, or several, had at a time in seconds: so many threads, of as many
// as they may have.
type pool struct{ at, threads, most float64 }

// poolsOfThreads are the executors of a program as they were told, in order of time.
func poolsOfThreads(s *settled) (told []pool) {
	for _, e := range s.Events.About(s.PID) {
		var d struct{ Threads, Most float64 }
		if e.Kind == record.KindEvent && e.Name == threadPools && json.Unmarshal(e.Detail, &d) == nil && d.Threads > 0 {
			told = append(told, pool{e.TMs / 1000, d.Threads, d.Most})
		}
	}
	return told
}

// threadsOf is how many threads there were at each time; nil where nobody told.
func threadsOf(pools []pool, clock []float64) []float64 {
	if len(pools) == 0 {
		return nil
	}
	out, next, now := make([]float64, len(clock)), 0, 0.
	for i, t := range clock {
		for next < len(pools) && pools[next].at <= t {
			now, next = pools[next].threads, next+1
		}
		out[i] = now
	}
	return out
}

// mostOnDevice is what a thread takes of the device at most: workspaces of the libraries that it
// calls.
const mostOnDevice = 256 * mib

// poolFills says why a growth of host memory, or of what the driver has on the device, may be a
// pool of threads that fills up; empty of another. Of the device's that is so where the program
// tells of a pool that is not full: the threads of others may be left behind.
func poolFills(s *settled) string {
	if s.restsOn != ByTrend || s.class != HostGrowth && s.class != DriverGrowth || hostHolder(s, s.Holders()) != nil {
		return ""
	}
	subject, most := "host memory", mostOfAThread
	pools := poolsOfThreads(s)
	if s.class == DriverGrowth {
		if s.primary != series.Untracked || len(pools) == 0 || pools[len(pools)-1].threads >= pools[len(pools)-1].most {
			return ""
		}
		subject, most = "memory outside the program's", mostOnDevice
	}
	came, each, ok := threadsAfter(s)
	if !ok || came > mostOfAPool || each > float64(most) {
		return ""
	}
	return fmt.Sprintf("%s rose with the %.0f threads that were started meanwhile, as a pool of threads does "+
		"until it is full", subject, came)
}
