package trend

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// window is one part of a series under test, and how it is tested.
type window struct {
	Question
	axis  Axis
	from  int // first row
	cycle Cycle
	doubt float64 // bytes left in doubt by what was taken out
	level float64 // of the trend test
}

// OfBlocks judges blocks that stand for a series already: their x ascends up to
// end, and what lies before them counts from the first on. y is changed.
func OfBlocks(x, y []float64, end float64, q Question) Growth {
	g := Growth{Shape: ShapeUndecided, Known: true, Delta: q.Delta, BlockX: x,
		BlockY: append([]float64(nil), y...)}
	snap(y, .6*q.Delta)
	g.fill(x, y, end, window{Question: q, level: q.full})
	return g
}

// window tests y from a row on.
func (a *Axes) window(y []float64, w window) Growth {
	g := Growth{Shape: ShapeUndecided, Axis: w.axis, From: w.from, Delta: w.Delta, Cycle: w.cycle}
	x := a.X(w.axis)[w.from:]
	y = y[w.from:]
	if len(x) < MinBlocks || !(x[len(x)-1] > x[0]) {
		return g
	}
	b := BlockCount(len(x), w.cycle.Length)
	if b < MinBlocks {
		return g
	}
	at := cuts(x, b)
	bx, by := troughs(x, y, at, w.Share)
	if len(bx) < MinBlocks {
		return g
	}
	g.Known, g.Reach = true, heightOf(y)
	q := max(1, len(by)/8)
	g.End = stat.Median(by[len(by)-q:])
	g.Rise = g.End - stat.Median(by[:q])
	g.BlockX, g.BlockY = bx, append([]float64(nil), by...)
	if len(bx) >= leastAdjusted {
		// A load or a wave is known only so well: a growth that is small
		// beside what it explains is not believed.
		load := a.loadOf(x, w.from, at, len(bx))
		follows := w.axis == ByTime && follows(bx, by, load, a.stepOf(w.from, at))
		w.doubt = adjust(bx, by, load)
		g.Loaded = follows && w.doubt == 0
		w.Delta += w.doubt
		g.Delta = w.Delta
	}
	snap(by, .6*w.Delta)
	if w.cycle.Drops == 0 {
		g.Within = inBlock(y, at)
	}
	g.fill(bx, by, x[len(x)-1], w)
	if g.Growing() && bx[len(bx)-1]-x[0] < seenUntil*(x[len(x)-1]-x[0]) {
		g.Shape = ShapeUndecided // whether it went on is not known
	}
	if g.Shape == ShapeUndecided && a.T[len(a.T)-1]-a.T[w.from] >= slightFor && g.isSlight(w.Delta-w.doubt) {
		g.Shape, g.Upper = Flat, math.Min(g.Upper, g.Reach)
	}
	return g
}

// slightFor is for how many seconds at least a window must last to say that so little came in it.
const slightFor = 6.

// isSlight reports whether the highest value is above the lowest by less than matters, in no
// order that looks like a growth: more cannot have come, however far a fit carries on a step.
func (g *Growth) isSlight(delta float64) bool {
	return g.Reach > 0 && g.Reach < delta && g.P > suspicious && !g.Loaded
}

// seenUntil is the part of the window at whose end a growth must have been seen.
const seenUntil = .75

// FirstRow is the first row whose x reaches v.
func FirstRow(x []float64, v float64) int {
	for i, w := range x {
		if w >= v {
			return i
		}
	}
	return 0
}
