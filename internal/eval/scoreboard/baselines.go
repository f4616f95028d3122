package main

import (
	"math"

	"github.com/gpumem/gpumem/tracer/record"
)

// baseline is a simple rule as common tools have it. It sees the totals, host
// and device, and raises an alarm when either grows by its measure.
type baseline struct {
	name string
	test func(t, y []float64) bool
}

var baselines = [...]baseline{
	{"last - first > 1 MiB", lastFirst},
	{"predict_linear", predictLinear},
	{"OLS with R² ≥ .8", straight},
	{"Mann-Kendall, Hamed-Rao", hamedRao},
	{"block minima", blockMinima},
}

const mib = 1 << 20

func (b *baseline) alarm(run *record.Run) bool {
	for _, c := range [...]string{record.ColGPU, record.ColRSS} {
		y := run.Samples.Column(c)
		tm := run.Samples.Column(record.ColTime)
		if y == nil || tm == nil {
			continue
		}
		var t, v []float64
		for i := range y {
			if y[i] == y[i] && tm[i] == tm[i] {
				t, v = append(t, tm[i]/1000), append(v, y[i])
			}
		}
		if len(v) > 2 && b.test(t, v) {
			return true
		}
	}
	return false
}

func lastFirst(_, y []float64) bool { return y[len(y)-1]-y[0] > mib }

// ols is the slope with its t value and R².
func ols(t, y []float64) (b, tv, r2 float64) {
	n := float64(len(t))
	var mt, my float64
	for i := range t {
		mt, my = mt+t[i]/n, my+y[i]/n
	}
	var stt, sty, syy float64
	for i := range t {
		stt += (t[i] - mt) * (t[i] - mt)
		sty += (t[i] - mt) * (y[i] - my)
		syy += (y[i] - my) * (y[i] - my)
	}
	if stt == 0 || syy == 0 {
		return 0, 0, 0
	}
	b = sty / stt
	sse := math.Max(syy-b*sty, 1e-9)
	return b, b / math.Sqrt(sse/(n-2)/stt), 1 - sse/syy
}

// predictLinear extrapolates ten windows ahead and alarms when memory then
// has doubled, the form alert rules use without a capacity at hand.
func predictLinear(t, y []float64) bool {
	b, _, _ := ols(t, y)
	return y[len(y)-1]+10*b*(t[len(t)-1]-t[0]) > 2*y[0]
}

func straight(t, y []float64) bool {
	b, _, r2 := ols(t, y)
	return r2 >= .8 && b*(t[len(t)-1]-t[0]) > mib
}

// thin takes at most 400 values, so that pairs stay affordable.
func thin(t, y []float64) (a, b []float64) {
	step := 1 + (len(y)-1)/400
	for i := 0; i < len(y); i += step {
		a, b = append(a, t[i]), append(b, y[i])
	}
	return a, b
}

// hamedRao is Mann-Kendall's test, its variance corrected for the ranks'
// autocorrelation, at .005 one-sided, with a growth above 1 MiB by slope.
func hamedRao(t, y []float64) bool {
	t, y = thin(t, y)
	n := len(y)
	s := 0.
	for i := range y {
		for j := i + 1; j < n; j++ {
			switch {
			case y[j] > y[i]:
				s++
			case y[j] < y[i]:
				s--
			}
		}
	}
	b, _, _ := ols(t, y)
	r := ranks(detrend(t, y, b))
	nf := float64(n)
	c := 0.
	for k := 1; k < n/4; k++ {
		if rho := correlation(r, k); math.Abs(rho) > 1.96/math.Sqrt(nf) {
			c += (nf - float64(k)) * (nf - float64(k) - 1) * (nf - float64(k) - 2) * rho
		}
	}
	v := nf * (nf - 1) * (2*nf + 5) / 18 * math.Max(1+2*c/(nf*(nf-1)*(nf-2)), .01)
	return (s-1)/math.Sqrt(v) > 2.576 && b*(t[n-1]-t[0]) > mib
}

func detrend(t, y []float64, b float64) []float64 {
	out := make([]float64, len(y))
	for i := range y {
		out[i] = y[i] - b*t[i]
	}
	return out
}

func ranks(y []float64) []float64 {
	out := make([]float64, len(y))
	for i := range y {
		for j := range y {
			switch {
			case y[j] < y[i]:
				out[i]++
			case y[j] == y[i]:
				out[i] += .5
			}
		}
		out[i] -= float64(len(y)) / 2
	}
	return out
}

func correlation(r []float64, k int) float64 {
	var a, b float64
	for i := range r {
		b += r[i] * r[i]
		if i >= k {
			a += r[i] * r[i-k]
		}
	}
	if b == 0 {
		return 0
	}
	return a / b
}

// blockMinima regresses the minima of 20 blocks: t > 3 and more than 1 MiB.
func blockMinima(t, y []float64) bool {
	const blocks = 20
	if len(y) < 2*blocks {
		return false
	}
	var bt, by []float64
	for k := 0; k < blocks; k++ {
		lo := math.Inf(1)
		at := 0.
		for i := k * len(y) / blocks; i < (k+1)*len(y)/blocks; i++ {
			if y[i] < lo {
				lo, at = y[i], t[i]
			}
		}
		bt, by = append(bt, at), append(by, lo)
	}
	b, tv, _ := ols(bt, by)
	return tv > 3 && b*(t[len(t)-1]-t[0]) > mib
}
