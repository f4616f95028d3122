package trend

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// A series that filled up and then rises no more has a trend that a short window leaves
// open: the line, the transient and the jumps share what came. How long it has stood still,
// beside the pauses in which it rose before, tells as much.
const (
	stoppedPart   = 1. / 3 // of the window, in which nothing more came
	stoppedBlocks = 8      // of it
	longerPause   = 2.     // times the longest pause between two rises before
	stoppedRise   = .5     // of delta, below which nothing came: a counter has its quantum
)

// Stopped reports whether the series rose no more in the last part of the window, for far
// longer than it ever paused while it rose, and since when. Values below those before are
// no rise, and a peak hides none: the middles of the part's quarters are as low to the end.
// What paused before the axis came to worked, was no pause of a program at work.
func (g *Growth) Stopped(worked float64) (since float64, ok bool) {
	x, y := g.BlockX, g.BlockY
	n := len(y)
	if n < 2*stoppedBlocks || g.Loaded {
		return 0, false
	}
	at, above := n-1, y[n-1]
	for i := n - 1; i >= 0; i-- {
		if above < y[i]+stoppedRise*g.Delta {
			at = i
		}
		above = math.Max(above, y[i])
	}
	first := min(FirstRow(x, worked), at)
	still, paused := x[n-1]-x[at], longestPause(x[first:at+1], y[first:], g.Delta)
	if n-at < stoppedBlocks || still < stoppedPart*(x[n-1]-x[0]) || still < longerPause*paused {
		return 0, false
	}
	return x[at], quartersLevel(y[at:], g.Delta)
}

// longestPause is the longest time between two values that were higher than any before,
// by a quarter of delta: a rise that comes in small portions pauses between these.
func longestPause(x, y []float64, delta float64) float64 {
	longest, since, high := 0., x[0], y[0]
	for i := range x {
		if y[i] > high+delta/4 {
			longest, since, high = math.Max(longest, x[i]-since), x[i], y[i]
		}
	}
	return longest
}

// quartersLevel reports whether the middle of the last quarter of some values is above the
// lowest middle of the others by no more than so much.
func quartersLevel(y []float64, rise float64) bool {
	const parts = 4
	low, last := math.Inf(1), 0.
	for i := range parts {
		part := append([]float64(nil), y[i*len(y)/parts:(i+1)*len(y)/parts]...)
		last = stat.Median(part)
		if i < parts-1 {
			low = math.Min(low, last)
		}
	}
	return last <= low+rise
}
