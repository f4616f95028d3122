package report

import (
	"math"

	"github.com/gpumem/gpumem/tracer/record"
)

// reduced is a series cut to buckets of equal width on the axis, each with its
// least and greatest value in the order in which they came: what is drawn is
// as jagged as the data was, and no peak is lost.
type reduced struct {
	x0, x1 float64
	first  []float64 // NaN in a bucket without a value
	second []float64
}

// reduce cuts v over x into n buckets between x0 and x1.
func reduce(x, v []float64, x0, x1 float64, n int) reduced {
	r := reduced{x0: x0, x1: x1, first: make([]float64, n), second: make([]float64, n)}
	for i := range r.first {
		r.first[i], r.second[i] = math.NaN(), math.NaN()
	}
	scale := 0.0
	if x1 > x0 {
		scale = float64(n) / (x1 - x0)
	}
	for i, y := range v {
		if record.IsUnknown(y) || !(x[i] >= x0 && x[i] <= x1) {
			continue
		}
		r.put(min(int((x[i]-x0)*scale), n-1), y)
	}
	return r
}

// put widens a bucket by y, keeping the older extreme first.
func (r *reduced) put(k int, y float64) {
	a, b := r.first[k], r.second[k]
	switch {
	case math.IsNaN(a):
		r.first[k], r.second[k] = y, y
	case y > max(a, b):
		r.first[k], r.second[k] = min(a, b), y
	case y < min(a, b):
		r.first[k], r.second[k] = max(a, b), y
	}
}

// each calls f with the points of every bucket that has any, at a quarter and
// three quarters of it; a bucket of one value gives its middle. gap is set at
// the first point after a stretch without samples much longer than usual,
// where a line would say what nobody saw.
func (r *reduced) each(f func(x, y float64, gap bool)) {
	n, filled := len(r.first), 0
	for _, a := range r.first {
		if !math.IsNaN(a) {
			filled++
		}
	}
	longest := max(3, 5*n/max(filled, 1))
	width := (r.x1 - r.x0) / float64(n)
	last := -1
	for k, a := range r.first {
		if math.IsNaN(a) {
			continue
		}
		gap := last < 0 || k-last > longest
		last = k
		left := r.x0 + float64(k)*width
		if b := r.second[k]; a != b {
			f(left+width/4, a, gap)
			f(left+3*width/4, b, false)
		} else {
			f(left+width/2, a, gap)
		}
	}
}
