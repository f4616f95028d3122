package evidence

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// bootstrapDraws is how many times the residuals are drawn anew for shares.
const bootstrapDraws = 400

// Shares are the parts that the accounts have in the growth of all, by their
// places in series.AccountKeys.
type Shares struct {
	of        [len(series.AccountKeys)]series.Interval
	known     bool
	agreement float64 // part of the bootstrap's draws that blame the same owner
}

// Part is an account's; nil where the growth was not shared out.
func (sh *Shares) Part(k series.Key) *series.Interval {
	i := slices.Index(series.AccountKeys[:], k)
	if sh == nil || !sh.known || i < 0 {
		return nil
	}
	return &sh.of[i]
}

// shareOut divides the growth between the accounts that grow: slopes of all
// of them at the same samples, the troughs of their total, so that they add
// up; and draws their common residuals anew, in blocks of random length, for
// the shares' intervals and for how often the owner stays the same.
func shareOut(e *Trends, a [series.Keys]float64, blamed series.Key) *Shares {
	sh := &Shares{agreement: 1}
	var grown []series.Key
	for _, k := range series.AccountKeys {
		if a[k] > 0 && e.rows.Series[k] != nil {
			grown = append(grown, k)
		}
	}
	if len(grown) == 0 {
		return sh
	}
	t, y := jointTroughs(e.rows, grown, &e.grow[blamed])
	if len(t) < trend.MinBlocks {
		return sh
	}
	span := e.rows.T[len(e.rows.T)-1] - t[0]
	slopes, resid := make([]float64, len(grown)), make([][]float64, len(grown))
	for j := range grown {
		l := stat.FitLine(t, y[j])
		slopes[j], resid[j] = l.B, l.Residuals(t, y[j])
	}
	_, whose := e.Blame(a)
	same := 0
	draws := drawSlopes(levers(t), slopes, resid, func(errors []float64) {
		drawn := a
		for j, k := range grown {
			drawn[k] = math.Max(0, a[k]+errors[j]*span)
		}
		if _, o := e.Blame(drawn); o == whose {
			same++
		}
	})
	sh.agreement = float64(same) / bootstrapDraws
	sh.fill(grown, slopes, draws)
	return sh
}

// drawSlopes draws the accounts' slopes anew, and tells each draw's errors.
func drawSlopes(lever, slopes []float64, resid [][]float64, tell func(errors []float64)) [][]float64 {
	n := len(lever)
	r := rand.New(rand.NewPCG(20261120, uint64(n)))
	draws := make([][]float64, bootstrapDraws)
	errors := make([]float64, len(slopes))
	for d := range draws {
		at := blockDraw(r, n)
		draws[d] = make([]float64, len(slopes))
		for j := range slopes {
			e := 0.
			for i, src := range at {
				e += lever[i] * resid[j][src]
			}
			draws[d][j], errors[j] = math.Max(0, slopes[j]+e), e
		}
		tell(errors)
	}
	return draws
}

// jointTroughs are the accounts' means over the same samples of each block,
// those in which their total is lowest, and the times of these.
func jointTroughs(l *series.Accounts, grown []series.Key, g *trend.Growth) (t []float64, y [][]float64) {
	var total []float64
	for _, k := range grown {
		if v := l.Series[k]; total == nil {
			total = append(total, v...)
		} else {
			for i := range total {
				total[i] += v[i]
			}
		}
	}
	rows := l.LowRows(total, g, trend.TroughShare)
	for _, k := range grown {
		y = append(y, trend.BlockMeans(l.Series[k], rows))
	}
	return trend.BlockMeans(l.T, rows), y
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

// fill sets the shares with their 95 % intervals.
func (sh *Shares) fill(grown []series.Key, slopes []float64, draws [][]float64) {
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
	for j, k := range grown {
		v := make([]float64, len(draws))
		for d, b := range draws {
			v[d] = part(b, j)
		}
		sort.Float64s(v)
		low, high := stat.SortedQuantile(v, .025), stat.SortedQuantile(v, .975)
		sh.of[slices.Index(series.AccountKeys[:], k)] = series.Interval{Value: part(slopes, j), Low: low,
			High: high}
	}
	sh.known = true
}
