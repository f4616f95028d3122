package trend

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// leastAdjusted is how many blocks it takes to fit a load or a slow wave.
const leastAdjusted = 16

// leastWave is how many blocks it takes to tell a wave from slow noise.
const leastWave = 32

// snap moves a block that a step cuts in two to the nearer of its neighbours,
// so that the step is one jump.
func snap(y []float64, floor float64) {
	if len(y) < MinBlocks {
		return
	}
	d := make([]float64, len(y)-1)
	for i := range d {
		d[i] = y[i+1] - y[i]
	}
	limit := math.Max(6*stat.Spread(d), floor)
	for i := 0; i+2 < len(y); i++ {
		a, b := y[i+1]-y[i], y[i+2]-y[i+1]
		if a*b <= 0 || math.Abs(a+b) < limit || math.Min(math.Abs(a), math.Abs(b)) < limit/4 {
			continue
		}
		if math.Abs(a) < math.Abs(b) {
			y[i+1] = y[i]
		} else {
			y[i+1] = y[i+2]
		}
	}
}

// loadOf is how busy the program was in each block, in steps per second; nil
// when steps are unknown or blocks were lost.
func (a *Axes) loadOf(x []float64, from int, at []int, blocks int) []float64 {
	if a.Step == nil || len(at)-1 != blocks || len(x) == 0 {
		return nil
	}
	out := make([]float64, blocks)
	for k := range out {
		i, j := from+at[k], min(from+at[k+1], len(a.T)-1)
		dt := a.T[j] - a.T[i]
		if dt <= 0 {
			return nil
		}
		out[k] = (a.Step[j] - a.Step[i]) / dt
	}
	return out
}

// stepOf is the step in the middle of each block; nil without steps.
func (a *Axes) stepOf(from int, at []int) []float64 {
	if a.Step == nil {
		return nil
	}
	out := make([]float64, len(at)-1)
	for k := range out {
		out[k] = a.Step[from+(at[k]+at[k+1])/2]
	}
	return out
}

// A load that rises by loadRises over the window may be what memory follows,
// when memory does not rise by more than outgrows times what the load does,
// and the two cannot be told apart: the load explains memory as well as time
// and steps do, but for a factor of tellApart; or the load is as straight as
// loadStraight, so that time stands for it, and steps explain no more than
// time (a leak by the step would bend upward).
const (
	loadRises    = .2
	loadStraight = .975
	outgrows     = 1.5
	tellApart    = 1.3
)

// follows reports whether y may only follow a load that rises.
func follows(x, y, load, step []float64) bool {
	if load == nil || step == nil {
		return false
	}
	l := stat.FitLine(x, load)
	span := x[len(x)-1] - x[0]
	first := l.A + l.B*x[0]
	if !(l.B > 0) || !(first > 0) || l.B*span < loadRises*first {
		return false
	}
	byTime, byStep, byLoad := stat.FitLine(x, y), stat.FitLine(step, y), stat.FitLine(load, y)
	level := byTime.A + byTime.B*x[0]
	if byTime.B*span > outgrows*math.Max(level, 0)*l.B*span/first {
		return false
	}
	if byLoad.SSE < tellApart*math.Min(byTime.SSE, byStep.SSE) {
		return true
	}
	return straight(l) && byStep.SSE > byTime.SSE/tellApart
}

// straight reports whether a load is as good as a line: nothing that follows it
// can then be told from a growth.
func straight(l stat.Line) bool { return l.SSE <= (1-loadStraight)*(l.SSE+l.B*l.B*l.SXX) }

// Parts of the scatter about a line that a load or a wave must explain to be
// taken out of the series, and the part of what was taken out that is left in
// doubt.
const (
	loadExplains = .2
	loadF        = 6. // and the F value it must reach
	waveExplains = .9
	adjustDoubt  = .05
)

// adjust takes out of y what follows the program's load, and else a slow wave
// of two to eight periods, each fitted together with a straight line. It
// returns how many bytes of growth that leaves in doubt.
func adjust(x, y, load []float64) float64 {
	n := len(y)
	base := stat.FitLine(x, y).SSE
	if !(base > 0) {
		return 0
	}
	u := make([]float64, n)
	for i := range u {
		u[i] = (x[i] - x[0]) / (x[n-1] - x[0])
	}
	if load != nil && !straight(stat.FitLine(x, load)) {
		// Troughs lie early in a block while load rises: the block before
		// takes part.
		lag := append([]float64{load[0]}, load[:n-1]...)
		w, se, sse := stat.FitBeside(u, y, load, lag)
		f := (base - sse) / 2 / (sse / float64(n-4))
		if w[0]+w[1] > 0 && sse < (1-loadExplains)*base && f > loadF {
			m := stat.Mean(load)
			part := make([]float64, n)
			for i := range part {
				part[i] = w[0]*(load[i]-m) + w[1]*(lag[i]-m)
			}
			return adjustDoubt*takeOut(y, part) + 2*math.Min(se[0], se[1])*reach(load)
		}
	}
	if n < leastWave || len(jumpsOf(y, 0)) > 0 {
		return 0
	}
	f, sse := slowest(u, y, 2, 8, .25)
	if sse >= (1-waveExplains)*base*1.5 {
		return 0
	}
	f, sse = slowest(u, y, f-.2, f+.2, .05)
	if sse >= (1-waveExplains)*base {
		return 0
	}
	s, c := make([]float64, n), make([]float64, n)
	wave(u, f, s, c)
	w, _, _ := stat.FitBeside(u, y, s, c)
	for i := range s {
		s[i] = w[0]*s[i] + w[1]*c[i]
	}
	return adjustDoubt * takeOut(y, s)
}

// takeOut subtracts part from y and returns part's range.
func takeOut(y, part []float64) float64 {
	for i := range y {
		y[i] -= part[i]
	}
	return reach(part)
}

// reach is the distance between the least and the greatest of v.
func reach(v []float64) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range v {
		lo, hi = math.Min(lo, x), math.Max(hi, x)
	}
	return hi - lo
}

// slowest is the frequency, in periods a window, whose wave leaves the least
// beside a line, and the sum of squares it leaves.
func slowest(u, y []float64, from, to, by float64) (f, sse float64) {
	s, c := make([]float64, len(u)), make([]float64, len(u))
	sse = math.Inf(1)
	for g := from; g <= to; g += by {
		wave(u, g, s, c)
		if _, _, e := stat.FitBeside(u, y, s, c); e < sse {
			f, sse = g, e
		}
	}
	return f, sse
}

func wave(u []float64, f float64, s, c []float64) {
	for i, v := range u {
		s[i], c[i] = math.Sincos(2 * math.Pi * f * v)
	}
}
