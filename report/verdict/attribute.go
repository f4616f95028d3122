package verdict

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
)

// bootstrapDraws is how many times the residuals are drawn anew for shares.
const bootstrapDraws = 400

// attribute divides the growth between the accounts that grow: slopes of all
// of them at the same samples, the troughs of their total, so that they add
// up; and draws their common residuals anew, in blocks of random length, for
// the shares' intervals and for how often the class stays the same.
func (s *subject) attribute(a [keys]float64) {
	s.agreement = 1
	var grown []int
	for i, k := range accountKeys {
		if a[k] > 0 && s.led.series[k] != nil {
			grown = append(grown, i)
		}
	}
	if len(grown) == 0 {
		return
	}
	x, y := s.jointTroughs(grown)
	if len(x) < trend.MinBlocks {
		return
	}
	span := s.led.T[len(s.led.T)-1] - x[0]
	slopes, resid := make([]float64, len(grown)), make([][]float64, len(grown))
	for j := range grown {
		l := stat.FitLine(x, y[j])
		slopes[j], resid[j] = l.B, l.Residuals(x, y[j])
	}
	lever := levers(x)
	r := rand.New(rand.NewPCG(20261120, uint64(len(x))))
	draws := make([][]float64, bootstrapDraws)
	same := 0
	for d := range draws {
		at := blockDraw(r, len(x))
		drawn, b := a, make([]float64, len(grown))
		for j, i := range grown {
			e := 0.
			for n, src := range at {
				e += lever[n] * resid[j][src]
			}
			b[j] = math.Max(0, slopes[j]+e)
			k := accountKeys[i]
			drawn[k] = math.Max(0, a[k]+e*span)
		}
		draws[d] = b
		if c, _ := s.decide(drawn); c == s.class {
			same++
		}
	}
	s.agreement = float64(same) / bootstrapDraws
	s.setShares(grown, slopes, draws)
}

// jointTroughs are the accounts' means over the same samples of each block,
// those in which their total is lowest.
func (s *subject) jointTroughs(grown []int) (x []float64, y [][]float64) {
	var total []float64
	for _, g := range grown {
		if v := s.led.series[accountKeys[g]]; total == nil {
			total = append(total, v...)
		} else {
			for i := range total {
				total[i] += v[i]
			}
		}
	}
	rows := s.led.LowRows(total, &s.grow[s.primary], trend.TroughShare)
	for _, g := range grown {
		y = append(y, trend.BlockMeans(s.led.series[accountKeys[g]], rows))
	}
	return trend.BlockMeans(s.led.T, rows), y
}

// levers are the weights of the values in a line's slope.
func levers(x []float64) []float64 {
	m := stat.Mean(x)
	out := make([]float64, len(x))
	sxx := 0.
	for i, v := range x {
		out[i] = v - m
		sxx += out[i] * out[i]
	}
	for i := range out {
		out[i] /= sxx
	}
	return out
}

// blockDraw is one draw of the stationary bootstrap: n places, following one
// another for 1.5 n^(1/3) on average, then starting anew anywhere.
func blockDraw(r *rand.Rand, n int) []int {
	end := 1 / math.Ceil(1.5*math.Cbrt(float64(n)))
	out := make([]int, n)
	at := r.IntN(n)
	for i := range out {
		out[i] = at
		if at++; at == n || r.Float64() < end {
			at = r.IntN(n)
		}
	}
	return out
}

// setShares fills the shares with their 95 % intervals.
func (s *subject) setShares(grown []int, slopes []float64, draws [][]float64) {
	part := func(b []float64, j int) float64 {
		sum := 0.
		for _, v := range b {
			sum += math.Max(0, v)
		}
		if sum <= 0 {
			return 0
		}
		return math.Max(0, b[j]) / sum
	}
	for j, i := range grown {
		v := make([]float64, len(draws))
		for d, b := range draws {
			v[d] = part(b, j)
		}
		sort.Float64s(v)
		s.share[i] = Interval{Value: part(slopes, j), Low: stat.SortedQuantile(v, .025), High: stat.SortedQuantile(v, .975)}
	}
	s.shared = true
}
