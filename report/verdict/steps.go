package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/series"
)

// Steps that may come again are as large as each other, and the time between them has not gone by once and a
// half since.
const (
	leastStep   = 4 * mib
	stepPart    = 1. / 16 // of what the account holds, below which a step is none
	sameSize    = 2.      // times the other
	stepsApart  = 4.      // seconds, at least
	keptFor     = 3.      // seconds for which the second must be kept
	comesWithin = 1.5     // times the time between the two
)

// step is a rise of an account that was kept to the end.
type step struct{ from, to, size float64 } // seconds, bytes

// comesAgain says why a young program of Python's is left open of which nothing grows, and by which account: that
// rose by as much a second time, and the time for a third has not come. A leak by the epoch, the class or the batch
// looks like this. Empty of another.
func comesAgain(s *settled) (of series.Key, why string) {
	if !isYoungPython(s) || len(s.Judged.Clock) == 0 {
		return series.Keys, ""
	}
	end := s.Judged.Clock[len(s.Judged.Clock)-1]
	for _, k := range [...]series.Key{series.Live, series.Host} {
		rises := stepsOf(s.Whole.Clock, s.Whole.Series[k], end)
		if n := len(rises); n > 1 && rises[n-1].mayRecur(rises[n-2], end) {
			a, b := rises[n-2], rises[n-1]
			return k, fmt.Sprintf("%s rose by %s after %s and by %s after %s, and may do so again", series.AccountWords[k],
				units.Bytes(a.size), units.Span(a.from), units.Bytes(b.size), units.Span(b.from))
		}
	}
	return series.Keys, ""
}

// mayRecur reports whether a step is as large as the one before, was kept for a while, and is so young that a third
// would not have come since.
func (b step) mayRecur(a step, end float64) bool {
	apart, since := b.from-a.from, end-b.to
	return apart >= stepsApart && since >= keptFor && since < comesWithin*apart &&
		b.size <= sameSize*a.size && a.size <= sameSize*b.size
}

// stepsOf are the rises of a series up to a time that it kept: of what it was never below again.
func stepsOf(clock, y []float64, end float64) []step {
	kept, at := keptLevels(clock, y, end)
	if len(kept) == 0 {
		return nil
	}
	least := math.Max(leastStep, stepPart*kept[len(kept)-1])
	var out []step
	for i := 1; i < len(kept); i++ {
		if kept[i]-kept[i-1] < least/8 {
			continue
		}
		begin := i
		for i+1 < len(kept) && kept[i+1]-kept[i] >= least/8 {
			i++
		}
		if size := kept[i] - kept[begin-1]; size >= least {
			out = append(out, step{from: at[begin], to: at[i], size: size})
		}
	}
	return out
}

// keptLevels are, for each second that has a reading, the least that a series was from it on.
func keptLevels(clock, y []float64, end float64) (kept, at []float64) {
	var low []float64
	for i, v := range y {
		if v != v || clock[i] > end {
			continue
		}
		if n := len(at); n == 0 || clock[i] >= at[n-1]+1 {
			at, low = append(at, clock[i]), append(low, v)
		} else {
			low[n-1] = math.Min(low[n-1], v)
		}
	}
	for i := len(low) - 2; i >= 0; i-- {
		low[i] = math.Min(low[i], low[i+1])
	}
	return low, at
}
