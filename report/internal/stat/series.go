package stat

import "math"

// Plus adds series row by row; a nil series adds nothing, an unknown cell of
// the first makes the sum unknown, of another counts as its last known value.
func Plus(v []float64, more ...[]float64) []float64 { return combine(1, v, more) }

// Minus subtracts series row by row, as plus adds them.
func Minus(v []float64, more ...[]float64) []float64 { return combine(-1, v, more) }

func combine(sign float64, v []float64, more [][]float64) []float64 {
	out := append([]float64(nil), v...)
	for _, m := range more {
		if m == nil {
			continue
		}
		for i := range out {
			out[i] += sign * m[i]
		}
	}
	for _, x := range out {
		if x == x {
			return out
		}
	}
	return nil
}

// Part is what v adds to a sum: nothing where it is unknown.
func Part(v float64) float64 {
	if v != v {
		return 0
	}
	return v
}

// Known are the values of v that are not unknown.
func Known(v []float64) []float64 {
	out := make([]float64, 0, len(v))
	for _, x := range v {
		if x == x {
			out = append(out, x)
		}
	}
	return out
}

// Rise is the last known value less the first; NaN when fewer than two are known.
func Rise(v []float64) float64 {
	if k := Known(v); len(k) > 1 {
		return k[len(k)-1] - k[0]
	}
	return math.NaN()
}
