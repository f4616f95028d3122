package verdict

import "math"

// question is what a series is asked.
type question struct {
	delta float64 // smallest growth that matters
	share float64 // part of a block's samples, from the lowest, that stands for it; 0 is the median
	net   float64 // part of the growth that must be left when what fell is counted in
	conditions
}

// conditions a growth must meet. They were tuned on the corpus's tuning
// seeds; the scoreboard states what they cost and catch on others.
type conditions struct {
	full float64 // level of the trend test over the whole window
	late float64 // and over the window's last parts
	far  float64 // and over either for a growth far above the noise, in multiples
	t    float64 // slope over its error, beside jumps and a transient
	tail float64 // part of the slope that the last quarter may still have
}

// forReport are the conditions for one verdict on one run.
func forReport() conditions { return conditions{full: .0005, late: .0001, far: 20, t: 4, tail: .45} }

// forLook are the conditions of one of many looks, at a level of its own.
func forLook(level float64) conditions {
	return conditions{full: math.Min(level, .001), late: math.Min(level, .0001), far: 10, t: 5, tail: .5}
}

// lifetimesOver is how many time constants a transient lasts: 95 % of it.
const lifetimesOver = 3

const (
	farNoise   = 13. // growth over the noise from which the trend test's level is c.far and one less t does
	modelDoubt = .8  // intervals widen by so much of the residuals' autocorrelation, and half of it of what jumps and transients took
	plainT     = 20. // a slope so many errors from 0 stands beside jumps of any size
	leastShare = .2  // of the plain slope that must be left beside jumps and a transient
)

// growth is what was found of one series.
type growth struct {
	known    bool // enough samples to say anything
	shape    Shape
	axis     axis
	from     int     // first row of the window the numbers below are for
	settled  float64 // of the axis, until a transient was over
	late     bool    // the growth began inside the run
	rate     float64 // per unit of the axis
	low      float64
	high     float64
	se       float64
	span     float64 // of the axis, from the judged rows' first to last
	delta    float64 // smallest growth that matters
	p, t     float64
	noise    float64 // standard deviation of the blocks about the fit
	upper    float64 // upper bound of the growth over the window
	limit    float64 // what upper must stay below to be called flat
	loaded   bool    // rises as the program's load does, and cannot be told from it
	end      float64 // level of the last blocks
	bx, by   []float64
	within   float64 // spread of samples about their block, without cycles
	rise     float64 // last blocks less first blocks, uncut
	rho      float64 // autocorrelation of the blocks about the fit
	cycle    cycle
	blocks   int
	evidence float64 // decades; 0 when not growing
}

// bytes is the growth over the judged window.
func (g *growth) bytes() float64 { return g.rate * g.span }

// growing says whether the series grows.
func (g *growth) growing() bool { return g.shape == Growing }

// axes are what a series may be judged over: the time of each row in seconds,
// ascending, and the program's step in it. step is nil when nobody told steps.
type axes struct{ t, step []float64 }

// axis is what a rate is counted in.
type axis int

const (
	byTime axis = iota
	byStep
)

// examine tests one series for growth, over the whole window and,
// when that shows none, over its last half and quarter.
func (l *axes) examine(y []float64, q question) growth {
	g := growth{shape: ShapeUndecided, delta: q.delta}
	if y == nil {
		return g
	}
	g.cycle = findCycle(y, q.delta)
	ax := l.pickAxis(y, g.cycle, q.share)
	w := window{question: q, level: q.full, cycle: g.cycle, axis: ax}
	full := l.window(y, w)
	if full.growing() || !full.known || full.loaded {
		return full
	}
	n := len(y)
	w.level = q.late
	for _, w.from = range [...]int{n / 2, n * 3 / 4} {
		if n-w.from < 60 || g.cycle.length > 0 && (n-w.from)/g.cycle.length < 12 {
			break
		}
		part := l.window(y, w)
		if part.growing() && part.end > full.highest(l.x(ax)[w.from])+part.bytes()/2 {
			part.late = true
			return part
		}
	}
	return full
}

// highest is the highest block before x: a growth that began late must leave
// it behind, or it is one more tooth of a saw.
func (g *growth) highest(x float64) float64 {
	top := math.Inf(-1)
	for i, v := range g.by {
		if g.bx[i] < x {
			top = math.Max(top, v)
		}
	}
	return top
}

// x is the axis's values by row.
func (l *axes) x(a axis) []float64 {
	if a == byStep {
		return l.step
	}
	return l.t
}

// leastSteps is how many different steps make steps an axis.
const leastSteps = 30

// stepped reports whether the run has enough steps to be an axis.
func (l *axes) stepped() bool {
	if l.step == nil {
		return false
	}
	d := 0
	for i := 1; i < len(l.step); i++ {
		if l.step[i] > l.step[i-1] {
			if d++; d >= leastSteps {
				return true
			}
		}
	}
	return false
}

// pickAxis is the axis about which y is straighter: steps only when they
// leave clearly less than time does.
func (l *axes) pickAxis(y []float64, c cycle, share float64) axis {
	if !l.stepped() {
		return byTime
	}
	at := cuts(l.t, blockCount(len(y), c.length))
	tx, ty := troughs(l.t, y, at, share)
	sx, _ := troughs(l.step, y, at, share)
	if len(tx) < minBlocks {
		return byTime
	}
	if fitLine(sx, ty).sse < .9*fitLine(tx, ty).sse {
		return byStep
	}
	return byTime
}

// window is one part of a series under test, and how it is tested.
type window struct {
	question
	axis  axis
	from  int // first row
	cycle cycle
	doubt float64 // bytes left in doubt by what was taken out
	level float64 // of the trend test
}

// ofBlocks judges blocks that stand for a series already: their x ascends up to
// end, and what lies before them counts from the first on. y is changed.
func ofBlocks(x, y []float64, end float64, q question) growth {
	g := growth{shape: ShapeUndecided, known: true, delta: q.delta, bx: x, by: append([]float64(nil), y...)}
	snap(y, .6*q.delta)
	g.fill(x, y, end, window{question: q, level: q.full})
	return g
}

// window tests y from a row on.
func (l *axes) window(y []float64, w window) growth {
	g := growth{shape: ShapeUndecided, axis: w.axis, from: w.from, delta: w.delta, cycle: w.cycle}
	x := l.x(w.axis)[w.from:]
	y = y[w.from:]
	if len(x) < minBlocks || !(x[len(x)-1] > x[0]) {
		return g
	}
	b := blockCount(len(x), w.cycle.length)
	if b < minBlocks {
		return g
	}
	at := cuts(x, b)
	bx, by := troughs(x, y, at, w.share)
	if len(bx) < minBlocks {
		return g
	}
	g.known = true
	q := max(1, len(by)/8)
	g.end = median(by[len(by)-q:])
	g.rise = g.end - median(by[:q])
	g.bx, g.by = bx, append([]float64(nil), by...)
	if len(bx) >= leastAdjusted {
		// A load or a wave is known only so well: a growth that is small
		// beside what it explains is not believed.
		load := l.loadOf(x, w.from, at, len(bx))
		follows := w.axis == byTime && follows(bx, by, load, l.stepOf(w.from, at))
		w.doubt = adjust(bx, by, load)
		g.loaded = follows && w.doubt == 0
		w.delta += w.doubt
		g.delta = w.delta
	}
	snap(by, .6*w.delta)
	if w.cycle.drops == 0 {
		g.within = inBlock(y, at)
	}
	g.fill(bx, by, x[len(x)-1], w)
	if g.growing() && bx[len(bx)-1]-x[0] < seenUntil*(x[len(x)-1]-x[0]) {
		g.shape = ShapeUndecided // whether it went on is not known
	}
	return g
}

// seenUntil is the part of the window at whose end a growth must have been seen.
const seenUntil = .75

// firstRow is the first row whose x reaches v.
func firstRow(x []float64, v float64) int {
	for i, w := range x {
		if w >= v {
			return i
		}
	}
	return 0
}

// fill judges the blocks.
func (g *growth) fill(bx, by []float64, end float64, c window) {
	g.blocks = len(bx)
	g.span = end - bx[0]
	delta, floor := c.delta, c.delta/100
	f := fitTrend(bx, by, floor, .6*delta)
	g.rho = autocorrelation(f.resid)
	plain := student(f.df) * f.se
	w := math.Hypot(plain*(1+modelDoubt*math.Max(0, g.rho)), modelDoubt/2*(f.plain-f.b))
	w = math.Hypot(w, c.doubt/g.span)
	g.rate, g.low, g.high, g.se = f.b, f.b-w, f.b+w, f.se
	g.noise = f.sd
	if math.Abs(f.transient) > delta {
		g.settled = lifetimesOver * f.tau * (bx[len(bx)-1] - bx[0])
	}
	g.p = trendP(TrendStatistic(f.straight, floor), len(by))
	if f.se > 0 {
		g.t = f.b / f.se
	}
	g.upper = (f.b + plain) * g.span
	g.limit = g.flatLimit(f.sd)
	// What jumps down take away again is no growth.
	left := (f.b >= leastShare*f.plain || g.t > plainT) && f.plain >= c.net*f.b
	level, least := c.level, c.t
	if g.bytes() > farNoise*f.sd {
		level, least = level*c.far, least-1
	}
	grows := g.p <= level && g.t > least && left && g.bytes() > delta
	if grows && !g.loaded && goesOn(bx, f.straight, c.tail*f.b, delta/2) && g.weigh(bx, f.straight, floor) {
		g.shape = Growing
		return
	}
	g.shape = g.still(&f, c.t)
}

// wanders is the autocorrelation of the blocks about the fit from which the
// noise may be a walk: the evidence is then no more than the drift's.
const wanders = .2

// weigh compares the growth with its rivals: it reports whether it stands, and
// counts the decades of evidence for it.
func (g *growth) weigh(x, y []float64, floor float64) bool {
	ended, leapt := rivals(x, y, floor)
	if ended > endsBetter || leapt > leapsBetter {
		return false
	}
	g.evidence = math.Min(-math.Log10(g.p), g.t/1.5)
	g.evidence = math.Min(g.evidence, evenDecades-math.Max(ended, leapt)/math.Ln10)
	if g.rho > wanders {
		g.evidence = math.Min(g.evidence, drift(y, floor)/1.2)
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
	m, squares := mean(d), 0.
	for _, v := range d {
		squares += (v - m) * (v - m)
	}
	return m * float64(len(d)) / math.Sqrt(squares+float64(len(d))*floor*floor)
}

// still is the shape of a series that was not found to grow.
func (g *growth) still(f *trendFit, least float64) Shape {
	switch {
	case g.loaded && g.t > least, g.upper >= g.limit && !g.nearlyFlat():
		return ShapeUndecided
	case math.Abs(f.jump) > g.delta:
		return Step
	case math.Abs(f.transient) > g.delta:
		return Plateau
	case g.cycle.drops >= 3:
		return Bounded
	}
	return Flat
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
func (g *growth) flatLimit(sd float64) float64 {
	if g.cycle.drops > 0 {
		return math.Max(g.delta, math.Min(flatTeeth*sd, mostTeeth*g.delta))
	}
	limit := math.Max(g.delta, flatBlocks*sd)
	if g.within > 0 {
		limit = math.Max(limit, flatSamples*math.Hypot(g.within, sd))
	}
	return limit
}

// nearlyFlat reports a slope that is small and not even suspicious, with a
// bound that is wider than wished for only by slow noise. Under a sawtooth,
// which leaves few troughs to judge by, it must be smaller still.
func (g *growth) nearlyFlat() bool {
	small := g.delta
	if g.cycle.drops > 0 {
		small /= 2
	}
	return g.bytes() < small && g.p > .2 && g.upper < 3*g.limit
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
	l := fitLine(x[k:], y[k:])
	se := math.Sqrt(l.sse / float64(n-k-2) / l.sxx)
	return l.b+tailSure*se+grain/(x[n-1]-x[k]) >= least
}
