package trend

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// trendFit is the straight part of a series after jumps and a transient that
// dies out have been given their share.
type trendFit struct {
	b, se     float64 // per unit of x
	df        float64
	resid     []float64
	sd        float64 // of the residuals
	transient float64 // size of the transient, 0 when none helps
	tau       float64 // its time constant, as a part of the span
	jumps     []int   // first value after each jump
	jump      float64 // sum of the jumps
	plain     float64 // slope without jumps and transient
	straight  []float64
}

// lifetimes are the time constants tried for the transient, as parts of the
// span. A longer one is no transient, but a growth that slows down: it would take
// from the growth what it does not give back.
var lifetimes = [...]float64{.04, .06, .08, .12, .17, .24, .34}

// fitTrend fits y = a + b x - c exp(-x/tau) + jumps, c >= 0, taking what lowers
// the information criterion at the effective number of values. x ascends.
// Jumps of less than leap are not modelled.
func fitTrend(x, y []float64, floor, leap float64) trendFit {
	n := len(x)
	lo, span := x[0], x[n-1]-x[0]
	u := make([]float64, n)
	for i := range u {
		u[i] = (x[i] - lo) / span
	}
	base := stat.FitLine(u, y)
	cand := jumpsOf(y, leap)
	scale := base.SSE/float64(n) + floor*floor
	var best *regression
	bestIC, bestTau, bestJ := math.Inf(1), 0.0, 0
	for j := 0; j <= len(cand); j++ {
		for t := -1; t < len(lifetimes); t++ {
			tau := 0.0
			if t >= 0 {
				tau = lifetimes[t]
			}
			r := regress(u, y, tau, cand[:j])
			if r == nil || tau > 0 && r.coef[2] > 0 {
				continue
			}
			if ic := r.criterion(floor, scale); ic < bestIC-1e-9 {
				best, bestIC, bestTau, bestJ = r, ic, tau, j
			}
		}
	}
	f := trendFit{plain: base.B / span}
	if best == nil {
		return f
	}
	f.b, f.resid, f.jumps = best.coef[1]/span, best.resid, cand[:bestJ]
	f.sd = math.Sqrt(best.sse / float64(max(1, n-len(best.coef))))
	se, df := best.slopeError(floor)
	f.se, f.df = se/span, df
	if bestTau > 0 {
		f.tau = bestTau
		f.transient = -best.coef[2] * (1 - math.Exp(-1/bestTau))
	}
	for k := len(best.coef) - bestJ; k < len(best.coef); k++ {
		f.jump += best.coef[k]
	}
	f.straight = best.without(y, bestJ)
	return f
}

// SlopeOf is the slope of y over x beside jumps and a transient, and half the width
// of its 95 % interval. floor and leap are those of fitTrend.
func SlopeOf(x, y []float64, floor, leap float64) (slope, margin float64) {
	f := fitTrend(x, y, floor, leap)
	return f.b, stat.Student(f.df) * f.se
}

// staircase is how large the third leap may be beside the second before leaps
// are the growth itself and none of them a thing of its own.
const staircase = .5

// jumpsOf are up to two places where y leaps by more than its usual movement
// allows, largest first; none when more leaps of the same kind follow.
func jumpsOf(y []float64, leap float64) []int {
	n := len(y)
	d := make([]float64, n-1)
	for i := range d {
		d[i] = y[i+1] - y[i]
	}
	m, limit := stat.Median(d), math.Max(6*stat.Spread(d), leap)
	at := make([]int, 0, 4)
	for i := range d {
		if math.Abs(d[i]-m) <= limit {
			continue
		}
		k := len(at)
		for k > 0 && math.Abs(d[at[k-1]-1]-m) < math.Abs(d[i]-m) {
			k--
		}
		at = append(at[:k], append([]int{i + 1}, at[k:]...)...)
		at = at[:min(len(at), 3)]
	}
	if len(at) == 3 {
		if math.Abs(d[at[2]-1]-m) > staircase*math.Abs(d[at[1]-1]-m) {
			return nil
		}
		at = at[:2]
	}
	return at
}

// regression is one least-squares fit of fitTrend's model.
type regression struct {
	coef, resid, lever []float64 // lever: weight of each value in the slope
	jumpX              [][]float64
	sse                float64
}

// regress fits 1, u, exp(-u/tau) when tau > 0, and a step at each jump. Nil
// when the columns are not independent.
func regress(u, y []float64, tau float64, jumps []int) *regression {
	n := len(u)
	cols := make([][]float64, 0, 5)
	one := make([]float64, n)
	for i := range one {
		one[i] = 1
	}
	cols = append(cols, one, u)
	if tau > 0 {
		e := make([]float64, n)
		for i := range e {
			e[i] = math.Exp(-u[i] / tau)
		}
		cols = append(cols, e)
	}
	r := &regression{}
	for _, j := range jumps {
		s := make([]float64, n)
		for i := j; i < n; i++ {
			s[i] = 1
		}
		cols, r.jumpX = append(cols, s), append(r.jumpX, s)
	}
	if n < len(cols)+3 {
		return nil
	}
	m := make([][]float64, len(cols))
	v := make([]float64, len(cols))
	for a := range cols {
		m[a] = make([]float64, len(cols))
		for b := range cols {
			m[a][b] = stat.Dot(cols[a], cols[b])
		}
		v[a] = stat.Dot(cols[a], y)
	}
	coef, inv, ok := stat.Solve(m, v)
	if !ok {
		return nil
	}
	r.coef, r.resid, r.lever = coef, make([]float64, n), make([]float64, n)
	for i := range y {
		f := 0.0
		for a := range cols {
			f += coef[a] * cols[a][i]
			r.lever[i] += inv[1][a] * cols[a][i]
		}
		r.resid[i] = y[i] - f
		r.sse += r.resid[i] * r.resid[i]
	}
	return r
}

// criterion is Schwarz's, with the number of independent values that the
// residuals' autocorrelation leaves; scale is the variance about a plain line.
func (r *regression) criterion(floor, scale float64) float64 {
	n := float64(len(r.resid))
	rho := stat.Clamp(stat.Autocorrelation(r.resid), 0, .9)
	eff := math.Max(n*(1-rho)/(1+rho), 4)
	return eff*math.Log((r.sse/n+floor*floor)/scale) + float64(len(r.coef))*math.Log(eff)*1.5
}

// slopeError is the slope's standard error under autocorrelated residuals,
// the larger of a kernel's and a first-order model's, and its degrees of
// freedom.
func (r *regression) slopeError(floor float64) (se, df float64) {
	n := len(r.resid)
	p := len(r.coef)
	s := make([]float64, n)
	h2 := 0.0
	for i := range s {
		s[i] = r.lever[i] * r.resid[i]
		h2 += r.lever[i] * r.lever[i]
	}
	fix := float64(n) / float64(n-p)
	kernel := float64(n) * stat.LongRunVariance(s, stat.Bandwidth(n)) * fix
	rho := stat.Autocorrelation(r.resid)
	rho = stat.Clamp((float64(n)*rho+2)/(float64(n)-4), 0, .95) // least-squares bias with a trend
	sd2 := r.sse/float64(n-p) + floor*floor/12
	first := h2 * sd2 * (1 + rho) / (1 - rho)
	return math.Sqrt(math.Max(kernel, first)), math.Max(2, float64(n-p)*(1-rho)/(1+rho))
}

// without is y with the fitted jumps taken out.
func (r *regression) without(y []float64, jumps int) []float64 {
	out := append([]float64(nil), y...)
	for k := 0; k < jumps; k++ {
		c := r.coef[len(r.coef)-jumps+k]
		for i := range out {
			out[i] -= c * r.jumpX[k][i]
		}
	}
	return out
}
