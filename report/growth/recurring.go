package growth

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// An allocator's own counts are exact: what goes back and forth between the same levels to
// the end keeps nothing, however much that is. And a pool takes whole segments: one that it
// took late is a larger request, and no growth yet.
const (
	recurFor   = 12. // seconds that the window lasts, at least
	poolFor    = 8.  // and where it is what a pool takes
	recurParts = 4   // of the window, that are compared
	recurAgree = 3   // of them, that come to the same level
	recurShare = .1  // of the rows of a part that lie beyond its level
	recurRows  = 8   // of a part, that are known
	warmShare  = .25 // of the window, in which a pool fills
	together   = 1.  // seconds from one segment to the next of what a pool takes at once
	smallRise  = .05 // of what the pool has, by which it may rise afterwards
	mostSmall  = 3   // such rises
	newestRise = .2  // of the window, in which a larger one is too young to be the only one
)

// settleRecurring decides on what is live where its trend is open though it only goes back
// and forth, and on what the pool keeps where that took one segment late in the run.
func (x *Examined) settleRecurring() {
	clock := x.Judged.Clock
	if x.Judged.Untimed || len(clock) == 0 {
		return
	}
	x.settleRoseOnce(clock)
	if clock[len(clock)-1]-clock[0] < recurFor {
		return
	}
	for _, k := range [...]series.Key{series.Live, series.Count} {
		g, y := &x.Grow[k], x.Judged.Series[k]
		if y != nil && g.Known && g.Shape == trend.ShapeUndecided && !g.Loaded &&
			recurs(clock, y, g.Delta/2) {
			g.Settle(trend.Bounded, g.Delta/2)
		}
	}
}

// settleRoseOnce decides on what the pool keeps where it took one segment late in the run.
func (x *Examined) settleRoseOnce(clock []float64) {
	if clock[len(clock)-1]-clock[0] < poolFor {
		return
	}
	idle, live := &x.Grow[series.Idle], &x.Grow[series.Live]
	if !idle.Known || idle.Shape != trend.ShapeUndecided || !live.Known || live.Growing() {
		return
	}
	reserved := stat.Plus(x.Judged.Series[series.Live], x.Judged.Series[series.Idle])
	if most, ok := roseOnce(clock, reserved); ok {
		idle.Settle(trend.Bounded, math.Max(most, idle.Delta/2))
	}
}

// A series that is told to the byte keeps nothing where it comes down to one level again and
// again, however high it rises in between.
const (
	lowFor   = 6. // seconds that the window lasts, at least
	lowParts = 3  // of the window, in the first and the last of which it must have come down
)

// settleLows decides on what is live where its trend is open though it comes down as low as
// it ever was, to the end.
func (x *Examined) settleLows() {
	clock := x.Judged.Clock
	if x.Judged.Untimed || len(clock) == 0 || clock[len(clock)-1]-clock[0] < lowFor {
		return
	}
	for _, k := range [...]series.Key{series.Live, series.Count} {
		g, y := &x.Grow[k], x.Judged.Series[k]
		if y == nil || !g.Known || g.Shape != trend.ShapeUndecided || g.Loaded {
			continue
		}
		for _, grain := range [...]float64{g.Delta / 2, g.Delta} {
			if comesDown(clock, y, grain) {
				g.Settle(trend.Bounded, grain*lowParts/(lowParts-1))
				break
			}
		}
	}
}

// comesDown reports whether a series is as low in the last part of its time as it was in the
// first, but for a grain, and was never lower; and whether it was so not longer ago than it was
// above that before. A sample may miss what is brief.
func comesDown(clock, y []float64, grain float64) bool {
	parts := valuesByPart(clock, y, lowParts)
	if len(parts[0]) < recurRows || len(parts[lowParts-1]) < recurRows {
		return false
	}
	low, last := stat.Quantile(parts[0], 0), stat.Quantile(parts[lowParts-1], 0)
	if last > low+grain || stat.Quantile(stat.Known(y), 0) < low-grain {
		return false
	}
	longest, since := 0., clock[0]
	for i, v := range y {
		if v <= low+grain {
			longest, since = math.Max(longest, clock[i]-since), clock[i]
		}
	}
	return clock[len(clock)-1]-since <= longest
}

// recurs reports whether a series has the same high level, but for a grain, in most parts of its
// time, one of them the last, and is there for most of it, or has the same low level as well; and
// whether it is no higher in the second half than in the first.
func recurs(clock, y []float64, grain float64) bool {
	var lows, highs [recurParts]float64
	there, thereLast := 0, false
	for i, part := range valuesByPart(clock, y, recurParts) {
		if len(part) < recurRows {
			return false
		}
		lows[i], highs[i] = stat.Quantile(part, recurShare), stat.Quantile(part, 1-recurShare)
		if thereLast = stat.Median(part) >= highs[i]-grain; thereLast {
			there++
		}
	}
	half := valuesByPart(clock, y, 2)
	if stat.Quantile(half[1], 1) > stat.Quantile(half[0], 1)+grain {
		return false
	}
	low, lowLast := agree(lows, grain)
	high, highLast := agree(highs, grain)
	return high && (low && (lowLast || highLast) || highLast && thereLast && there >= recurAgree)
}

// agree reports whether most parts have about the same level, and whether the last is one
// of them.
func agree(levels [recurParts]float64, grain float64) (most, last bool) {
	for _, v := range levels {
		n := 0
		for _, w := range levels {
			if math.Abs(w-v) <= grain {
				n++
			}
		}
		if n >= recurAgree {
			return true, math.Abs(levels[recurParts-1]-v) <= grain
		}
	}
	return false, false
}

// valuesByPart are the known values of a series, by equal parts of its time.
func valuesByPart(clock, y []float64, parts int) [][]float64 {
	out := make([][]float64, parts)
	span := clock[len(clock)-1] - clock[0]
	for i, v := range y {
		if v == v {
			p := min(parts-1, int(float64(parts)*(clock[i]-clock[0])/span))
			out[p] = append(out[p], v)
		}
	}
	return out
}

// roseOnce reports whether what a pool has rose above what it ever had no more than once
// after it had filled, but for a few small parts of it, and not just before the end; most is
// by how much it would have risen unseen.
func roseOnce(clock, reserved []float64) (most float64, ok bool) {
	begin, end := clock[0], clock[len(clock)-1]
	high, last, sum, large, small := math.Inf(-1), begin, 0., 0, 0
	for i, v := range reserved {
		switch {
		case v != v || v <= high:
			continue
		case clock[i]-begin < warmShare*(end-begin):
		case v > high+smallRise*high:
			if large == 0 || clock[i]-last > together {
				large, most = large+1, 0
			}
			most, last = most+v-high, clock[i]
		default:
			small, sum = small+1, sum+v-high
		}
		high = v
	}
	few := large == 0 || large == 1 && last < end-newestRise*(end-begin)
	few = few && small <= mostSmall && sum <= smallRise*high
	return math.Max(most, sum), few && !math.IsInf(high, -1)
}
