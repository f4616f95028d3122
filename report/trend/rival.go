package trend

import (
	"math"
	"sort"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// A growth has rivals that look like it and are none: a rise that began and
// ended inside the window, as a load that arrives; and one or two leaps. Each
// is fitted to the blocks beside a growth that may begin late, and rules the
// growth out when its logarithm of likelihood, at the number of independent
// blocks, is higher by so much. (A rise that ends has one free value more than a
// growth, so that noise alone lets it win a little.)
const (
	endsBetter  = 8.
	leapsBetter = 2.
	// evenDecades is the evidence of a growth whose best rival explains the
	// blocks as well.
	evenDecades = 3.
)

// Parts of the window at which a rise may begin and end.
var (
	risesFrom = [...]float64{0, .1, .2, .3, .4}
	risesTo   = [...]float64{.45, .5, .55, .6, .65, .7, .75, .8, .85, .9}
)

// rivals is by how much a rise that ended and leaps explain the blocks y, free
// of jumps, better than a growth that goes on to the end. floor is the smallest
// deviation of the noise that is believed.
func rivals(x, y []float64, floor float64) (ended, leapt float64) {
	least := float64(len(y)) * floor * floor
	on, _ := bestRise(x, y, []float64{1})
	end, endLeft := bestRise(x, y, risesTo[:])
	leap, leapLeft := bestLeaps(y)
	ended = math.Inf(-1) // where no rise ends
	if endLeft != nil {
		ended = Advantage(on+least, end+least, endLeft)
	}
	return ended, Advantage(on+least, leap+least, leapLeft)
}

// Advantage is by how much the logarithm of a rival's likelihood is above that
// of a model that leaves the squares sse; the rival's residuals tell how many
// blocks are independent.
func Advantage(sse, rival float64, left []float64) float64 {
	rho := stat.Clamp(stat.Autocorrelation(left), 0, .9)
	return float64(len(left)) * (1 - rho) / (1 + rho) * math.Log(sse/rival)
}

// A rise that is said to have ended is none where the blocks behind its end surely
// rise on: by so many errors, and by so much of its slope. A growth that slows down
// a little lies closer to a rise that ended than to a straight one.
const (
	risesOnSure  = 4.
	risesOnShare = .4
	risesOnLeast = 4 // blocks that tell
)

// bestRise fits a straight rise between two places, flat before and after, and
// returns what the best of those that end at one of the given places leaves.
func bestRise(x, y, ends []float64) (sse float64, left []float64) {
	u, v := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		u[i] = (x[i] - x[0]) / (x[len(x)-1] - x[0])
	}
	sse, from, to := math.Inf(1), 0., 1.
	rise := func(from, to float64) stat.Line {
		for i := range v {
			v[i] = stat.Clamp(u[i], from, to)
		}
		return stat.FitLine(v, y)
	}
	for _, a := range risesFrom {
		for _, b := range ends {
			if l := rise(a, b); l.B > 0 && l.SSE < sse && !risesOn(u, y, b, l.B) {
				sse, from, to = l.SSE, a, b
			}
		}
	}
	if math.IsInf(sse, 1) {
		return sse, nil
	}
	l := rise(from, to)
	return sse, l.Residuals(v, y)
}

// risesOn reports whether the blocks behind a part of the window surely rise on.
func risesOn(u, y []float64, end, slope float64) bool {
	k := sort.SearchFloat64s(u, end)
	n := len(u) - k
	if n < risesOnLeast {
		return false
	}
	l := stat.FitLine(u[k:], y[k:])
	se := math.Sqrt(l.SSE / float64(n-2) / l.SXX)
	return l.B > risesOnSure*se && l.B > risesOnShare*slope
}

// bestLeaps fits three levels, each above the one before and of at least two
// blocks, and returns what the best ones leave.
func bestLeaps(y []float64) (sse float64, left []float64) {
	n := len(y)
	sum, squares := make([]float64, n+1), make([]float64, n+1)
	for i, v := range y {
		d := v - y[0]
		sum[i+1], squares[i+1] = sum[i]+d, squares[i]+d*d
	}
	level := func(i, j int) float64 { return (sum[j] - sum[i]) / float64(j-i) }
	off := func(i, j int) float64 { return squares[j] - squares[i] - (sum[j]-sum[i])*level(i, j) }
	sse = math.Inf(1)
	a, b := 0, n
	for i := 2; i < n-3; i++ {
		for j := i + 2; j < n-1; j++ {
			if s := off(0, i) + off(i, j) + off(j, n); s < sse && level(0, i) <= level(i, j) &&
				level(i, j) <= level(j, n) {
				sse, a, b = math.Max(0, s), i, j
			}
		}
	}
	left = make([]float64, n)
	for _, part := range [...][2]int{{0, a}, {a, b}, {b, n}} {
		for i := part[0]; i < part[1]; i++ {
			left[i] = y[i] - y[0] - level(part[0], part[1])
		}
	}
	return sse, left
}
