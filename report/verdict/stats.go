package verdict

import (
	"math"
	"sort"
)

// mean of v; 0 for none.
func mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// quantile of v by linear interpolation; v is copied and may be unordered.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	return sortedQuantile(s, q)
}

// sortedQuantile is quantile of values already in ascending order.
func sortedQuantile(s []float64, q float64) float64 {
	p := q * float64(len(s)-1)
	i := int(p)
	if i >= len(s)-1 {
		return s[len(s)-1]
	}
	return s[i] + (p-float64(i))*(s[i+1]-s[i])
}

func median(v []float64) float64 { return quantile(v, .5) }

// spread is the median absolute deviation from the median, scaled to the
// standard deviation of a normal distribution.
func spread(v []float64) float64 {
	m := median(v)
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = math.Abs(x - m)
	}
	return 1.4826 * median(d)
}

// line is a least-squares line y = a + b x.
type line struct {
	a, b, sse, sxx float64
}

// fitLine fits a line; b is 0 when x does not vary.
func fitLine(x, y []float64) line {
	mx, my := mean(x), mean(y)
	var sxx, sxy, syy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		sxx += dx * dx
		sxy += dx * dy
		syy += dy * dy
	}
	l := line{a: my, sse: syy, sxx: sxx}
	if sxx > 0 {
		l.b = sxy / sxx
		l.a = my - l.b*mx
		l.sse = math.Max(0, syy-l.b*sxy)
	}
	return l
}

// residuals of y about the line.
func (l line) residuals(x, y []float64) []float64 {
	r := make([]float64, len(x))
	for i := range x {
		r[i] = y[i] - l.a - l.b*x[i]
	}
	return r
}

// longRunVariance of u about zero by Bartlett's kernel with the given lag.
func longRunVariance(u []float64, lag int) float64 {
	n := len(u)
	if n == 0 {
		return 0
	}
	s := 0.0
	for k := 0; k <= lag && k < n; k++ {
		g := 0.0
		for i := k; i < n; i++ {
			g += u[i] * u[i-k]
		}
		g /= float64(n)
		if k > 0 {
			g *= 2 * (1 - float64(k)/float64(lag+1))
		}
		s += g
	}
	return math.Max(s, 0)
}

// bandwidth is the kernel lag used for n values (.75 n^(1/3) + 2).
func bandwidth(n int) int { return int(.75*math.Cbrt(float64(n))) + 2 }

// autocorrelation of u at lag 1, about zero.
func autocorrelation(u []float64) float64 {
	var a, b float64
	for i := range u {
		b += u[i] * u[i]
		if i > 0 {
			a += u[i] * u[i-1]
		}
	}
	if b == 0 {
		return 0
	}
	return a / b
}

// solve solves the symmetric positive system m x = v in place by Gaussian
// elimination with pivoting and returns m's inverse too; ok is false when m
// is singular to working precision.
func solve(m [][]float64, v []float64) (x []float64, inv [][]float64, ok bool) {
	n := len(v)
	w := make([][]float64, n)
	for i := range w {
		w[i] = make([]float64, 2*n+1)
		copy(w[i], m[i])
		w[i][n+i] = 1
		w[i][2*n] = v[i]
	}
	for c := 0; c < n; c++ {
		p := c
		for r := c + 1; r < n; r++ {
			if math.Abs(w[r][c]) > math.Abs(w[p][c]) {
				p = r
			}
		}
		if !(math.Abs(w[p][c]) > 1e-10) {
			return nil, nil, false
		}
		w[c], w[p] = w[p], w[c]
		eliminate(w, c)
	}
	x = make([]float64, n)
	inv = make([][]float64, n)
	for i := range w {
		x[i] = w[i][2*n]
		inv[i] = w[i][n : 2*n]
	}
	return x, inv, true
}

// eliminate scales row c to a unit pivot and clears column c elsewhere.
func eliminate(w [][]float64, c int) {
	d := w[c][c]
	for k := range w[c] {
		w[c][k] /= d
	}
	for r := range w {
		if r == c || w[r][c] == 0 {
			continue
		}
		f := w[r][c]
		for k := range w[r] {
			w[r][k] -= f * w[c][k]
		}
	}
}
