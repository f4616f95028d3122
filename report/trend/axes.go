package trend

import "github.com/gpumem/gpumem/report/internal/stat"

// Axes are what a series may be judged over: the time T of each row in seconds,
// ascending, and the program's Step in it, nil when nobody told steps.
type Axes struct{ T, Step []float64 }

// Axis is what a rate is counted in.
type Axis int

// The axes: seconds and the program's steps.
const (
	ByTime Axis = iota
	ByStep
)

// Examine tests one series for growth, over the whole window and,
// when that shows none, over its last half and quarter.
func (a *Axes) Examine(y []float64, q Question) Growth {
	g := Growth{Shape: ShapeUndecided, Delta: q.Delta}
	if y == nil {
		return g
	}
	g.Cycle = findCycle(y, q.Delta)
	ax := a.pickAxis(y, g.Cycle, q.Share)
	w := window{Question: q, level: q.full, cycle: g.Cycle, axis: ax}
	full := a.window(y, w)
	if full.Growing() || !full.Known || full.Loaded {
		return full
	}
	n := len(y)
	w.level = q.late
	for _, w.from = range [...]int{n / 2, n * 3 / 4} {
		if n-w.from < 60 || g.Cycle.Length > 0 && (n-w.from)/g.Cycle.Length < 12 {
			break
		}
		part := a.window(y, w)
		if part.Growing() && part.End > full.highest(a.X(ax)[w.from])+part.Amount()/2 {
			part.Late = true
			return part
		}
	}
	for _, w.from = range [...]int{n / 3, n / 2} {
		if full.Shape != ShapeUndecided || n-w.from < leastSettled {
			break
		}
		if part := a.window(y, w); part.settled(&full) {
			part.Shape = Plateau
			return part
		}
	}
	if full.Shape != ShapeUndecided {
		return full
	}
	if grain, ok := ComesBack(y, q.Delta); ok {
		full.Shape, full.Upper = Bounded, grain
	}
	if full.Shape == ShapeUndecided && !full.Loaded && full.Cycle.Drops >= leastTeeth && narrows(y, mostTeeth*q.Delta) {
		full.Shape = Bounded
	}
	return full
}

// leastSettled is how many rows must follow what came in the first third of a window for
// that to be a warm-up.
const leastSettled = 200

// settled reports a part of a window in which nothing moves by what matters, but for
// jumps that are small beside what the whole window rose by.
func (g *Growth) settled(whole *Growth) bool {
	const small = 1. / 8
	jumps := g.Shape == Step && g.Rise < small*whole.Rise
	return g.Known && (g.Shape == Flat || jumps) && g.Upper < g.Delta
}

// X is the axis's values by row.
func (a *Axes) X(of Axis) []float64 {
	if of == ByStep {
		return a.Step
	}
	return a.T
}

// leastSteps is how many different steps make steps an axis.
const leastSteps = 30

// Stepped reports whether the run has enough steps to be an axis.
func (a *Axes) Stepped() bool {
	if a.Step == nil {
		return false
	}
	d := 0
	for i := 1; i < len(a.Step); i++ {
		if a.Step[i] > a.Step[i-1] {
			if d++; d >= leastSteps {
				return true
			}
		}
	}
	return false
}

// hurried is the part of the time in which half of the steps of a program that starts may pass, and
// leastBeside the seconds that there must be to speak of one.
const (
	hurried     = 1. / 20
	leastBeside = 3.
)

// inHaste reports that half of all steps pass in a moment, as those do with which a program warms
// itself up: what that takes would be most of the axis.
func (a *Axes) inHaste() bool {
	last := len(a.T) - 1
	half, moment := (a.Step[last]-a.Step[0])/2, hurried*(a.T[last]-a.T[0])
	if moment < hurried*leastBeside {
		return false
	}
	from := 0
	for i := range a.T {
		for a.T[i]-a.T[from] > moment {
			from++
		}
		if a.Step[i]-a.Step[from] > half {
			return true
		}
	}
	return false
}

// pickAxis is the axis about which y is straighter: steps only when they
// leave clearly less than time does.
func (a *Axes) pickAxis(y []float64, c Cycle, share float64) Axis {
	if !a.Stepped() || a.inHaste() {
		return ByTime
	}
	at := cuts(a.T, BlockCount(len(y), c.Length))
	tx, ty := troughs(a.T, y, at, share)
	sx, _ := troughs(a.Step, y, at, share)
	if len(tx) < MinBlocks {
		return ByTime
	}
	if stat.FitLine(sx, ty).SSE < .9*stat.FitLine(tx, ty).SSE {
		return ByStep
	}
	return ByTime
}
