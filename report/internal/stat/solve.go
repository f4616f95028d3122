package stat

import "math"

// Solve solves the symmetric positive system m x = v in place by Gaussian
// elimination with pivoting and returns m's inverse too; ok is false when m
// is singular to working precision.
func Solve(m [][]float64, v []float64) (x []float64, inv [][]float64, ok bool) {
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
