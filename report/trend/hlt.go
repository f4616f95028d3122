package trend

import (
	"math"
	"sort"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// kappa weighs the two statistics of Harvey, Leybourne and Taylor (2007).
const kappa = .00025

// TrendStatistic is Harvey, Leybourne and Taylor's z for a linear trend in
// equally spaced y: valid whether the noise about the trend is stationary or
// wanders like a random walk. floor is the smallest standard deviation the
// noise is believed to have, so that exact data give a finite z. It is
// exported for the generator of the critical values; it needs 6 values and
// is 0 for fewer.
func TrendStatistic(y []float64, floor float64) float64 {
	n := len(y)
	if n < 6 {
		return 0
	}
	x := ramp(n)
	l := stat.FitLine(x, y)
	u := l.Residuals(x, y)
	lag := stat.Bandwidth(n)
	wu := math.Sqrt(math.Max(stat.LongRunVariance(u, lag), floor*floor))
	if wu == 0 {
		return 0
	}
	z0 := l.B * math.Sqrt(l.SXX) / wu
	d := make([]float64, n-1)
	for i := range d {
		d[i] = y[i+1] - y[i]
	}
	md := stat.Mean(d)
	for i := range d {
		d[i] -= md
	}
	wd := math.Sqrt(math.Max(stat.LongRunVariance(d, lag), floor*floor))
	z1 := md * math.Sqrt(float64(n-1)) / wd
	s := kpss(u, wu)
	if s <= 0 {
		return z0
	}
	r := dickeyFullerGLS(y) / s
	lambda := math.Exp(-kappa * r * r)
	return (1-lambda)*z0 + lambda*z1
}

// ramp is 0, 1/n, 2/n ...
func ramp(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i) / float64(n)
	}
	return x
}

// kpss is the stationarity statistic of residuals u with long-run deviation w.
func kpss(u []float64, w float64) float64 {
	c, s := 0.0, 0.0
	for _, v := range u {
		c += v
		s += c * c
	}
	n := float64(len(u))
	return s / (n * n * w * w)
}

// dickeyFullerGLS is the unit-root t statistic with one lag after
// detrending by generalised least squares (c = -13.5, Elliott et al. 1996).
func dickeyFullerGLS(y []float64) float64 {
	n := len(y)
	a := 1 - 13.5/float64(n)
	var s11, s12, s22, v1, v2 float64
	for i := range y {
		z1, z2, q := 1.0, float64(i+1), y[i]
		if i > 0 {
			z1, z2, q = 1-a, float64(i+1)-a*float64(i), y[i]-a*y[i-1]
		}
		s11 += z1 * z1
		s12 += z1 * z2
		s22 += z2 * z2
		v1 += z1 * q
		v2 += z2 * q
	}
	det := s11*s22 - s12*s12
	if det == 0 {
		return 0
	}
	b0, b1 := (v1*s22-v2*s12)/det, (v2*s11-v1*s12)/det
	e := make([]float64, n)
	for i := range y {
		e[i] = y[i] - b0 - b1*float64(i+1)
	}
	return laggedUnitRoot(e)
}

// laggedUnitRoot is the t statistic of e's level in a regression of its
// increments on the level and on one lagged increment.
func laggedUnitRoot(e []float64) float64 {
	var s11, s12, s22, v1, v2, vv float64
	for i := 2; i < len(e); i++ {
		d, l, d1 := e[i]-e[i-1], e[i-1], e[i-1]-e[i-2]
		s11 += l * l
		s12 += l * d1
		s22 += d1 * d1
		v1 += l * d
		v2 += d1 * d
		vv += d * d
	}
	det := s11*s22 - s12*s12
	if !(det > 1e-12*s11*s22) {
		return -100 // white about the line: no unit root
	}
	r, c := (v1*s22-v2*s12)/det, (v2*s11-v1*s12)/det
	df := float64(len(e) - 4)
	if df < 1 {
		return 0
	}
	s2 := math.Max(vv-r*v1-c*v2, 0) / df
	if s2 == 0 {
		return -100
	}
	return r / math.Sqrt(s2*s22/det)
}

// trendP is the one-sided p-value of a TrendStatistic of n values, from the
// simulated table, log-linear between its levels and in z squared beyond.
func trendP(z float64, n int) float64 {
	i := sort.SearchInts(trendSizes[:], n)
	if i == len(trendSizes) {
		i--
	}
	hi := trendCritical[i]
	lo := hi
	w := 1.0
	if i > 0 && n < trendSizes[i] {
		lo = trendCritical[i-1]
		w = float64(n-trendSizes[i-1]) / float64(trendSizes[i]-trendSizes[i-1])
	}
	prevZ, prevL := 0.0, math.Log(.5)
	for k, level := range trendLevels {
		c := lo[k] + w*(hi[k]-lo[k])
		l := math.Log(level)
		if z <= c {
			if z <= 0 {
				return .5
			}
			return math.Exp(prevL + (l-prevL)*(z-prevZ)/(c-prevZ))
		}
		prevZ, prevL = c, l
	}
	return math.Exp(math.Max(prevL*z/prevZ, -50))
}
