package growth

import (
	"math"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// A collector that frees only some of what is dead leaves teeth whose floors rise, and the teeth are
// noise to the trend of the whole. Where each floor is higher than the one before, to the end, and they
// rise by much of all that came, the program keeps what they rise by.
const (
	risingFloors = 4      // at least
	risingTeeth  = 1. / 8 // of the height of the series, for a fall to end a tooth
	risingLevel  = .01    // of the trend's test, which must be suspicious, too
	risingShare  = .4     // of the height, by which the last floor is above the first
	risingFirst  = 1. / 2 // of the window, by which the first must have come
	risingLast   = 3. / 4 // of the window, from which the last must have come
	risingWorth  = 2.     // decades of evidence that this is: likely, not sure
)

// settleRising decides on what is live where its trend is open and the floors of its teeth rise.
func (x *Examined) settleRising() {
	g, y, clock := &x.Grow[series.Live], x.Judged.Series[series.Live], x.Judged.Clock
	open := y != nil && g.Known && g.Shape == trend.ShapeUndecided && !x.Judged.Untimed
	if !open || g.P >= risingLevel || g.Low <= 0 || g.Loaded {
		return
	}
	delta := x.Judged.Delta(series.Live)
	at, floor, height := floorsOf(clock, y, risingTeeth, deepFall*delta)
	n, begin, span := len(at), clock[0], clock[len(clock)-1]-clock[0]
	if n < risingFloors || at[0]-begin > risingFirst*span || at[n-1]-begin < risingLast*span ||
		floor[n-1]-floor[0] < risingShare*height {
		return
	}
	for i := 1; i < n; i++ {
		if floor[i]-floor[i-1] <= delta {
			return
		}
	}
	g.Shape, g.Evidence = trend.Growing, math.Max(g.Evidence, risingWorth)
}
