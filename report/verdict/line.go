package verdict

import "math"

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

// beside fits y on 1, u and z and returns z's weights with their errors, and
// the remaining sum of squares (infinite when the columns are not independent).
func beside(u, y []float64, z ...[]float64) (weights, errs []float64, sse float64) {
	one := make([]float64, len(u))
	for i := range one {
		one[i] = 1
	}
	cols := append([][]float64{one, u}, z...)
	m := make([][]float64, len(cols))
	v := make([]float64, len(cols))
	scale := make([]float64, len(cols))
	for a := range cols {
		if scale[a] = math.Sqrt(dot(cols[a], cols[a])); scale[a] == 0 {
			return make([]float64, len(z)), make([]float64, len(z)), math.Inf(1)
		}
	}
	for a := range cols {
		m[a] = make([]float64, len(cols))
		for b := range cols {
			m[a][b] = dot(cols[a], cols[b]) / scale[a] / scale[b]
		}
		v[a] = dot(cols[a], y) / scale[a]
	}
	w, inv, ok := solve(m, v)
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

// dot is the sum of the products of a and b.
func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// student is the two-sided 95 % quantile of Student's distribution
// (Cornish-Fisher, within .5 % from 3 degrees on).
func student(df float64) float64 {
	const z = 1.959964
	g1 := (z*z*z + z) / 4
	g2 := (5*math.Pow(z, 5) + 16*z*z*z + 3*z) / 96
	g3 := (3*math.Pow(z, 7) + 19*math.Pow(z, 5) + 17*z*z*z - 15*z) / 384
	return z + g1/df + g2/(df*df) + g3/(df*df*df)
}
