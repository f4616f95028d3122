package verdict

import (
	"math"
	"slices"
)

// What else than the test of growth a number of handles must meet: programs make
// a few at a time, and few at all.
const (
	leastRises = 12  // blocks from which on there are more for good
	longStill  = .25 // part of the window without one
	slowing    = .6  // of the first half's rise, in the second; of the rate before the window, in it
)

// rateBefore is how fast y rose for good before the window of g; 0 when it is the
// whole.
func (l *axes) rateBefore(y []float64, g *growth) float64 {
	first := slices.IndexFunc(y, func(v float64) bool { return v == v })
	if first >= g.from {
		return 0
	}
	x := l.x(g.axis)
	return (quantile(known(y[g.from:]), 0) - y[first]) / (x[g.from] - x[first])
}

// floor is what each block and all later ones are above: what is there for good.
func (g *growth) floor() []float64 {
	out := append([]float64(nil), g.by...)
	for i := len(out) - 2; i >= 0; i-- {
		out[i] = math.Min(out[i], out[i+1])
	}
	return out
}

// accrues reports whether a number rises for good many times, all over the
// window, and not ever more slowly.
func (g *growth) accrues() bool {
	rises, since, still := 0, g.bx[0], 0.
	f := g.floor()
	for i, x := range g.bx {
		if i > 0 && f[i] > f[i-1] {
			rises++
			since = x
		}
		still = math.Max(still, x-since)
	}
	return rises >= leastRises && still <= longStill*(g.bx[len(g.bx)-1]-g.bx[0]) && g.halves() >= slowing
}

// halves is the rise of the window's second half as a part of the first's.
func (g *growth) halves() float64 {
	f := g.floor()
	n := len(f)
	mid := g.bx[0] + (g.bx[n-1]-g.bx[0])/2
	at := firstRow(g.bx, mid)
	return (f[n-1] - f[at]) / (f[at] - f[0])
}

// climbs reports whether a counter rises by at least least and keeps rising: its
// means over eight parts ascend.
func climbs(v []float64, least float64) bool {
	const parts = 8
	k := known(v)
	if len(k) < 2*parts || k[len(k)-1]-k[0] < least {
		return false
	}
	last := math.Inf(-1)
	for i := range parts {
		m := mean(k[i*len(k)/parts : (i+1)*len(k)/parts])
		if m <= last {
			return false
		}
		last = m
	}
	return true
}
