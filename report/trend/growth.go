package trend

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// lifetimesOver is how many time constants a transient lasts: 95 % of it.
const lifetimesOver = 3

const (
	// farNoise is how many deviations of the noise a growth must reach for the
	// weaker conditions: the level Conditions.far, and a t that is less by one.
	farNoise = 13.
	// modelDoubt widens an interval by this part of the residuals'
	// autocorrelation, and by half of it of what jumps and transients took.
	modelDoubt = .8
	// plainT is how many errors from 0 a slope must be to stand beside jumps of
	// any size.
	plainT = 20.
	// leastShare is the part of the plain slope that must be left beside jumps
	// and a transient.
	leastShare = .2
)

// Growth is what was found of one series. Unless it says otherwise, a field is in
// the unit of the series, and unknown (0) while Known is false.
type Growth struct {
	Known bool // there were enough samples to say anything
	Shape Shape

	// From is the first row of the window that the rest speaks of, and Span its
	// length on Axis from the first block on. Late: the growth began inside the
	// run. Settled is how long, on Axis, a transient went on.
	Axis    Axis
	From    int
	Span    float64
	Settled float64
	Late    bool

	// Rate is the fitted growth for each unit of Axis, Low and High are the ends
	// of its 95 % interval, and SE is its standard error. T is Rate over SE, and P
	// the level of the trend test.
	Rate, Low, High, SE float64
	T, P                float64
	Evidence            float64 // decades, 0 when it does not grow

	// Reach is the highest value of the window less its lowest: no more was ever gained
	// at once. 0 where blocks alone were given.
	Reach float64
	Delta float64 // smallest growth that matters
	Upper float64 // upper bound of the growth over the window
	Limit float64 // what Upper must stay below for the series to be flat

	// BlockX and BlockY are the blocks, End the level of the last ones, and Rise
	// how far that is above the first. Noise is the standard deviation of the
	// blocks about the fit, Rho their autocorrelation about it, and Within the
	// spread of the samples about their block.
	BlockX, BlockY []float64
	End, Rise      float64
	Noise, Rho     float64
	Within         float64

	Cycle  Cycle
	Loaded bool // it rises as the program's load does, and cannot be told from it
}

// Amount is the fitted growth over the window.
func (g *Growth) Amount() float64 { return g.Rate * g.Span }

// Gained is Amount as it can be shown: no more than the series ever rose by. A series
// that falls and rises again is fitted by what it gained in all.
func (g *Growth) Gained() float64 { return g.possible(g.Amount()) }

// Bounds are the ends of the interval of Gained.
func (g *Growth) Bounds() (low, high float64) {
	high = g.High * g.Span
	if g.Reach > 0 && g.Amount() > g.Reach {
		high = math.Min(high, g.Reach)
	}
	return g.possible(g.Low * g.Span), high
}

// possible is so much of a growth as the series ever rose by.
func (g *Growth) possible(amount float64) float64 {
	if g.Reach > 0 {
		return math.Min(amount, g.Reach)
	}
	return amount
}

// seenErrors is how many of its errors a growth must reach to be seen.
const seenErrors = 3.42

// Settle takes over what other evidence says of a series whose trend is open: its shape,
// and by how much it grew at most.
func (g *Growth) Settle(shape Shape, most float64) {
	g.Shape, g.Upper, g.Limit = shape, most, 2*most
	if g.Span > 0 {
		g.SE = math.Min(g.SE, 2*most/(seenErrors*g.Span))
	}
}

// Seen is the least growth over the window that would have been seen.
func (g *Growth) Seen() float64 { return math.Max(g.Delta, seenErrors*g.SE*g.Span) }

// Growing says whether the series grows.
func (g *Growth) Growing() bool { return g.Shape == Growing }

// highest is the highest block before x: a growth that began late must leave
// it behind, or it is one more tooth of a saw.
func (g *Growth) highest(x float64) float64 {
	top := math.Inf(-1)
	for i, v := range g.BlockY {
		if g.BlockX[i] < x {
			top = math.Max(top, v)
		}
	}
	return top
}

// fill judges the blocks.
func (g *Growth) fill(bx, by []float64, end float64, c window) {
	g.Span = end - bx[0]
	delta, floor := c.Delta, c.Delta/100
	f := fitTrend(bx, by, floor, .6*delta)
	g.Rho = stat.Autocorrelation(f.resid)
	plain := stat.Student(f.df) * f.se
	w := math.Hypot(plain*(1+modelDoubt*math.Max(0, g.Rho)), modelDoubt/2*(f.plain-f.b))
	w = math.Hypot(w, c.doubt/g.Span)
	g.Rate, g.Low, g.High, g.SE = f.b, f.b-w, f.b+w, f.se
	g.Noise = f.sd
	if math.Abs(f.transient) > delta {
		g.Settled = lifetimesOver * f.tau * (bx[len(bx)-1] - bx[0])
	}
	g.P = trendP(TrendStatistic(f.straight, floor), len(by))
	if f.se > 0 {
		g.T = f.b / f.se
	}
	g.Upper = (f.b + plain) * g.Span
	g.Limit = g.flatLimit(f.sd)
	// What jumps down take away again is no growth.
	left := (f.b >= leastShare*f.plain || g.T > plainT) && f.plain >= c.Net*f.b
	level, least := c.level, c.t
	if g.Amount() > farNoise*f.sd {
		level, least = level*c.far, least-1
	}
	grows := g.P <= level && g.T > least && left && g.Amount() > delta
	if grows && !g.Loaded && goesOn(bx, f.straight, c.tail*f.b, delta/2) && g.weigh(bx, f.straight, floor) {
		g.Shape = Growing
		g.lift(bx, by)
		return
	}
	g.Shape = g.still(&f, c.t)
}

// liftParts are the parts of a window of which one at least is without each of two jumps,
// and liftBlocks the fewest blocks of each.
const (
	liftParts  = 3
	liftBlocks = 4
)

// lift raises the rate of a fit beside jumps and a transient that took what grows: where
// each part of the window climbs faster than even the end of the fit's interval says, the
// whole climbs at least as its slowest part does. The interval goes along.
func (g *Growth) lift(x, y []float64) {
	last := len(x) - 1
	if last < liftParts*liftBlocks {
		return
	}
	slowest := math.Inf(1)
	for i := range liftParts {
		a, b := i*last/liftParts, (i+1)*last/liftParts
		slowest = math.Min(slowest, (y[b]-y[a])/(x[b]-x[a]))
	}
	if by := slowest - g.Rate; slowest > g.High {
		g.Rate, g.Low, g.High = g.Rate+by, g.Low+by, g.High+by
	}
}

// wanders is the autocorrelation of the blocks about the fit from which the
// noise may be a walk: the evidence is then no more than the drift's.
const wanders = .2

// weigh compares the growth with its rivals: it reports whether it stands, and
// counts the decades of evidence for it.
func (g *Growth) weigh(x, y []float64, floor float64) bool {
	ended, leapt := rivals(x, y, floor)
	if ended > endsBetter || leapt > leapsBetter {
		return false
	}
	g.Evidence = math.Min(-math.Log10(g.P), g.T/1.5)
	g.Evidence = math.Min(g.Evidence, evenDecades-math.Max(ended, leapt)/math.Ln10)
	if g.Rho > wanders {
		g.Evidence = math.Min(g.Evidence, drift(y, floor)/1.2)
	}
	return true
}

// drift is how many errors the mean step from block to block is above 0 if the
// noise is a random walk.
func drift(y []float64, floor float64) float64 {
	d := make([]float64, len(y)-1)
	for i := range d {
		d[i] = y[i+1] - y[i]
	}
	m, squares := stat.Mean(d), 0.
	for _, v := range d {
		squares += (v - m) * (v - m)
	}
	return m * float64(len(d)) / math.Sqrt(squares+float64(len(d))*floor*floor)
}

// suspicious is the level of the trend test from which a growth of twice what would have
// been seen is not denied, whatever the noise about it.
const suspicious = .01

// still is the shape of a series that was not found to grow.
func (g *Growth) still(f *trendFit, least float64) Shape {
	switch {
	case g.Loaded && g.T > least, g.Upper >= g.Limit && !g.nearlyFlat(),
		g.P < suspicious && g.Amount() > 2*g.Seen(), g.climbs():
		return ShapeUndecided
	case math.Abs(f.jump) > g.Delta:
		return Step
	case math.Abs(f.transient) > g.Delta:
		return Plateau
	case g.Cycle.Drops >= 3:
		return Bounded
	}
	return Flat
}

// climbing is how many blocks at the end must each be higher than the one before, by what matters
// together each time, for a series to be on its way up.
const climbing = 4

// climbs reports whether a series without teeth is on its way up at its end, and beyond where it was in the
// second half of its time before: that is no step yet, and no tooth of a few.
func (g *Growth) climbs() bool {
	n := len(g.BlockY)
	if n <= climbing || g.Cycle.Drops > 0 {
		return false
	}
	for i := n - climbing; i < n; i++ {
		if g.BlockY[i]-g.BlockY[i-1] <= g.Delta {
			return false
		}
	}
	for _, before := range g.BlockY[n/2 : max(n/2, n-climbing)] {
		if before > g.BlockY[n-1] {
			return false
		}
	}
	return true
}

// What counts as flat: a growth that stays within so many deviations of the
// noise. Under a sawtooth the noise is what the troughs leave of the teeth, and
// one that hides more than mostTeeth times what matters is not called flat.
const (
	flatBlocks  = 4. // deviations of the blocks about the fit
	flatSamples = 6. // of the samples
	flatTeeth   = 2. // of the troughs of a sawtooth
	mostTeeth   = 6.
)

// flatLimit is what the upper bound of a growth must stay below to be flat.
func (g *Growth) flatLimit(sd float64) float64 {
	if g.Cycle.Drops > 0 {
		return math.Max(g.Delta, math.Min(flatTeeth*sd, mostTeeth*g.Delta))
	}
	limit := math.Max(g.Delta, flatBlocks*sd)
	if g.Within > 0 {
		limit = math.Max(limit, flatSamples*math.Hypot(g.Within, sd))
	}
	return limit
}

// nearlyFlat reports a slope that is small and not even suspicious, with a
// bound that is wider than wished for only by slow noise. Under a sawtooth,
// which leaves few troughs to judge by, it must be smaller still.
func (g *Growth) nearlyFlat() bool {
	small := g.Delta
	if g.Cycle.Drops > 0 {
		small /= 2
	}
	return g.Amount() < small && g.P > .2 && g.Upper < 3*g.Limit
}

// tailSure is how many errors below what is asked the last quarter's slope
// must lie for the growth to have ended.
const tailSure = 2

// goesOn reports whether the last quarter may still rise by least a unit, but
// for a grain of the counter: a growth that has ended, a load that has
// arrived, is no leak.
func goesOn(x, y []float64, least, grain float64) bool {
	n := len(x)
	k := n - max(4, n/4)
	if k < 2 {
		return true
	}
	l := stat.FitLine(x[k:], y[k:])
	se := math.Sqrt(l.SSE / float64(n-k-2) / l.SXX)
	return l.B+tailSure*se+grain/(x[n-1]-x[k]) >= least
}
