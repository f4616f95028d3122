package stat

import "math"

// LongRunVariance of u about zero by Bartlett's kernel with the given lag.
func LongRunVariance(u []float64, lag int) float64 {
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

// Bandwidth is the kernel lag used for n values (.75 n^(1/3) + 2).
func Bandwidth(n int) int { return int(.75*math.Cbrt(float64(n))) + 2 }

// Autocorrelation of u at lag 1, about zero.
func Autocorrelation(u []float64) float64 {
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
