package stat

import "math"

// Line is a least-squares line y = a + b x.
type Line struct {
	A, B, SSE, SXX float64
}

// FitLine fits a line; b is 0 when x does not vary.
func FitLine(x, y []float64) Line {
	mx, my := Mean(x), Mean(y)
	var sxx, sxy, syy float64
	for i := range x {
		dx, dy := x[i]-mx, y[i]-my
		sxx += dx * dx
		sxy += dx * dy
		syy += dy * dy
	}
	l := Line{A: my, SSE: syy, SXX: sxx}
	if sxx > 0 {
		l.B = sxy / sxx
		l.A = my - l.B*mx
		l.SSE = math.Max(0, syy-l.B*sxy)
	}
	return l
}

// Residuals of y about the line.
func (l Line) Residuals(x, y []float64) []float64 {
	r := make([]float64, len(x))
	for i := range x {
		r[i] = y[i] - l.A - l.B*x[i]
	}
	return r
}

// FitBeside fits y on 1, u and z and returns z's weights with their errors, and
// the remaining sum of squares (infinite when the columns are not independent).
func FitBeside(u, y []float64, z ...[]float64) (weights, errs []float64, sse float64) {
	one := make([]float64, len(u))
	for i := range one {
		one[i] = 1
	}
	cols := append([][]float64{one, u}, z...)
	m := make([][]float64, len(cols))
	v := make([]float64, len(cols))
	scale := make([]float64, len(cols))
	for a := range cols {
		if scale[a] = math.Sqrt(Dot(cols[a], cols[a])); scale[a] == 0 {
			return make([]float64, len(z)), make([]float64, len(z)), math.Inf(1)
		}
	}
	for a := range cols {
		m[a] = make([]float64, len(cols))
		for b := range cols {
			m[a][b] = Dot(cols[a], cols[b]) / scale[a] / scale[b]
		}
		v[a] = Dot(cols[a], y) / scale[a]
	}
	w, inv, ok := Solve(m, v)
	if !ok {
		return make([]float64, len(z)), make([]float64, len(z)), math.Inf(1)
	}
	for a := range w {
		w[a] /= scale[a]
	}
	for i := range y {
		f := 0.
		for a := range cols {
			f += w[a] * cols[a][i]
		}
		sse += (y[i] - f) * (y[i] - f)
	}
	errs = make([]float64, len(z))
	for a := range errs {
		errs[a] = math.Sqrt(math.Max(0, inv[a+2][a+2])*sse/float64(max(1, len(y)-len(cols)))) / scale[a+2]
	}
	return w[2:], errs, sse
}

// Dot is the sum of the products of a and b.
func Dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// Student is the two-sided 95 % quantile of Student's distribution
// (Cornish-Fisher, within .5 % from 3 degrees on).
func Student(df float64) float64 {
	const z = 1.959964
	g1 := (z*z*z + z) / 4
	g2 := (5*math.Pow(z, 5) + 16*z*z*z + 3*z) / 96
	g3 := (3*math.Pow(z, 7) + 19*math.Pow(z, 5) + 17*z*z*z - 15*z) / 384
	return z + g1/df + g2/(df*df) + g3/(df*df*df)
}
