package stat

import (
	"math"
	"sort"
)

// Mean of v; 0 for none.
func Mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// Quantile of v by linear interpolation; v is copied and may be unordered.
func Quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	return SortedQuantile(s, q)
}

// SortedQuantile is quantile of values already in ascending order.
func SortedQuantile(s []float64, q float64) float64 {
	p := q * float64(len(s)-1)
	i := int(p)
	if i >= len(s)-1 {
		return s[len(s)-1]
	}
	return s[i] + (p-float64(i))*(s[i+1]-s[i])
}

func Median(v []float64) float64 { return Quantile(v, .5) }

// Spread is the median absolute deviation from the median, scaled to the
// standard deviation of a normal distribution.
func Spread(v []float64) float64 {
	m := Median(v)
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = math.Abs(x - m)
	}
	return 1.4826 * Median(d)
}

// Clamp is x, but no less than lo and no more than hi.
func Clamp(x, lo, hi float64) float64 { return math.Max(lo, math.Min(hi, x)) }

// Variation is the sum of squares about the mean.
func Variation(y []float64) float64 {
	m, sum := Mean(y), 0.
	for _, v := range y {
		sum += (v - m) * (v - m)
	}
	return sum
}

// Round keeps four digits after the point: more would be noise in what is printed.
func Round(x float64) float64 { return math.Round(x*1e4)/1e4 + 0 }
