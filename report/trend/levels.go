package trend

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// A series that leaves its level for moments and comes back keeps nothing, however many
// the moments become: as the piece that a driver's pool holds until the program waits.
const (
	levelParts = 8   // of the window, in each of which it must come back
	levelGrain = .02 // of what it rises by in all, in which a level is one: delta at most
)

// ComesBack reports whether y comes back to one level in every part of the window, and
// rises above it no higher in the second half than in the first, but for a grain of
// delta/2 to delta; it returns that.
func ComesBack(y []float64, delta float64) (grain float64, ok bool) {
	grain = math.Min(math.Max(delta/2, levelGrain*heightOf(y)), delta)
	if !KeepsLevel(y, grain) {
		return grain, false
	}
	first, second := heightOf(y[:len(y)/2]), heightOf(y[len(y)/2:])
	return grain, second <= first+grain
}

// KeepsLevel reports whether y comes back to one level, but for a grain, in every part of
// the window, however high it rises in between.
func KeepsLevel(y []float64, grain float64) bool {
	least, most := math.Inf(1), math.Inf(-1)
	for part := range levelParts {
		v := stat.Known(y[part*len(y)/levelParts : (part+1)*len(y)/levelParts])
		if len(v) < MinBlocks {
			return false
		}
		slices.Sort(v)
		level := v[1] // one value may be a slip
		least, most = math.Min(least, level), math.Max(most, level)
	}
	return most-least <= grain
}

// Teeth of several threads that drift apart leave ever higher troughs below ever lower
// peaks. A leak raises the peaks, and the middle, as well.
const (
	leastTeeth = 8  // that the peaks are told by
	toothParts = 16 // of the window, each with its peak and its middle
	peakShare  = .9 // of the values of a part that lie below its peak
)

// narrows reports whether the peaks of y fall, over the whole window and over what follows
// its first quarter, while its middle does not surely rise, nor can have risen unseen by
// more than so much.
func narrows(y []float64, unseen float64) bool {
	var x, peaks, middles []float64
	for part := range toothParts {
		v := stat.Known(y[part*len(y)/toothParts : (part+1)*len(y)/toothParts])
		if len(v) < MinBlocks {
			return false
		}
		x = append(x, float64(part))
		peaks, middles = append(peaks, stat.Quantile(v, peakShare)), append(middles, stat.Median(v))
	}
	middle := stat.FitLine(x, middles)
	margin := tailSure * math.Sqrt(middle.SSE/float64(toothParts-2)/middle.SXX)
	const late = toothParts / 4
	return stat.FitLine(x, peaks).B < 0 && stat.FitLine(x[late:], peaks[late:]).B < 0 && middle.B < margin &&
		(middle.B+margin)*toothParts <= unseen
}

// heightOf is the highest known value less the lowest.
func heightOf(y []float64) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range y {
		if v == v {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	return math.Max(0, high-low)
}
