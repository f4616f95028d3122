package trend

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/internal/stat"
)

// What else than the test of growth a number of handles must meet: programs make
// a few at a time, and few at all.
const (
	LeastRises = 12  // blocks from which on there are more for good
	longStill  = .25 // part of the window without one
	Slowing    = .6  // of the first half's rise, in the second; of the rate before the window, in it
)

// RateBefore is how fast y rose for good before the window of g; 0 when it is the
// whole.
func (a *Axes) RateBefore(y []float64, g *Growth) float64 {
	first := slices.IndexFunc(y, func(v float64) bool { return v == v })
	if first >= g.From {
		return 0
	}
	x := a.X(g.Axis)
	return (stat.Quantile(stat.Known(y[g.From:]), 0) - y[first]) / (x[g.From] - x[first])
}

// floor is what each block and all later ones are above: what is there for good.
func (g *Growth) floor() []float64 {
	out := append([]float64(nil), g.BlockY...)
	for i := len(out) - 2; i >= 0; i-- {
		out[i] = math.Min(out[i], out[i+1])
	}
	return out
}

// Accrues reports whether a number rises for good many times, all over the
// window, and not ever more slowly.
func (g *Growth) Accrues() bool {
	rises, since, still := 0, g.BlockX[0], 0.
	f := g.floor()
	for i, x := range g.BlockX {
		if i > 0 && f[i] > f[i-1] {
			rises++
			since = x
		}
		still = math.Max(still, x-since)
	}
	return rises >= LeastRises && still <= longStill*(g.BlockX[len(g.BlockX)-1]-g.BlockX[0]) &&
		g.Halves() >= Slowing
}

// Halves is the rise of the window's second half as a part of the first's.
func (g *Growth) Halves() float64 {
	f := g.floor()
	n := len(f)
	mid := g.BlockX[0] + (g.BlockX[n-1]-g.BlockX[0])/2
	at := FirstRow(g.BlockX, mid)
	return (f[n-1] - f[at]) / (f[at] - f[0])
}

// Climbs reports whether a counter rises by at least least and keeps rising: its
// means over eight parts ascend.
func Climbs(v []float64, least float64) bool {
	const parts = 8
	k := stat.Known(v)
	if len(k) < 2*parts || k[len(k)-1]-k[0] < least {
		return false
	}
	last := math.Inf(-1)
	for i := range parts {
		m := stat.Mean(k[i*len(k)/parts : (i+1)*len(k)/parts])
		if m <= last {
			return false
		}
		last = m
	}
	return true
}
