package report

import "math"

// reduced is a series cut to what can be drawn. A short one keeps its samples;
// a long one is cut into buckets of equal width on the axis, each with its
// least and its greatest value in the order in which they came: what is drawn
// is as jagged as the data was, and no peak is lost.
type reduced struct {
	x, y []float64 // y is NaN where nothing is known
}

// reduce cuts v over x to n buckets between x0 and x1, two points each.
func reduce(x, v []float64, x0, x1 float64, n int) reduced {
	if len(x) <= 2*n && ascending(x) {
		return reduced{x, v}
	}
	r := reduced{make([]float64, 2*n), make([]float64, 2*n)}
	width := (x1 - x0) / float64(n)
	for k := range n {
		r.x[2*k], r.x[2*k+1] = x0+(float64(k)+.25)*width, x0+(float64(k)+.75)*width
		r.y[2*k], r.y[2*k+1] = math.NaN(), math.NaN()
	}
	scale := float64(n) / (x1 - x0)
	for i, y := range v {
		if !finite(y) || !(x[i] >= x0 && x[i] <= x1) {
			continue
		}
		r.put(min(int((x[i]-x0)*scale), n-1), y)
	}
	return r
}

// put widens bucket k by y, keeping the older extreme first.
func (r *reduced) put(k int, y float64) {
	a, b := r.y[2*k], r.y[2*k+1]
	switch {
	case math.IsNaN(a):
		r.y[2*k], r.y[2*k+1] = y, y
	case y > max(a, b):
		r.y[2*k], r.y[2*k+1] = min(a, b), y
	case y < min(a, b):
		r.y[2*k], r.y[2*k+1] = max(a, b), y
	}
}

// ascending reports whether every x is known and greater than the one before.
func ascending(x []float64) bool {
	for i, v := range x {
		if !finite(v) || i > 0 && !(v > x[i-1]) {
			return false
		}
	}
	return true
}

// longestGap is how many points in a row may be unknown without a break in the
// line: five times the usual distance between known ones. Over a longer
// stretch a line would say what nobody saw.
func (r *reduced) longestGap() int {
	known := 0
	for _, y := range r.y {
		if finite(y) {
			known++
		}
	}
	return max(6, 5*len(r.y)/max(known, 1))
}

// each calls f with the known points; gap is set at the first and after a
// break.
func (r *reduced) each(f func(x, y float64, gap bool)) {
	longest, last := r.longestGap(), -1
	for i, y := range r.y {
		if !finite(y) {
			continue
		}
		f(r.x[i], y, last < 0 || i-last > longest)
		last = i
	}
}
