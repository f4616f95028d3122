package growth

import (
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// Growths are what was found of each series.
type Growths [series.Keys]trend.Growth

// Amounts is the growth of each key that grows, and 0 for the others. Idle or
// untracked bytes that only changed hands are no growth: the device holds
// as much as before.
func (g *Growths) Amounts() [series.Keys]float64 {
	var a [series.Keys]float64
	for k := series.Key(0); k < series.Keys; k++ {
		if g[k].Growing() {
			a[k] = g[k].Amount()
		}
	}
	freed := g.Shrinks(series.Live)
	if freed > a[series.Idle]/2 {
		a[series.Idle] = 0
	}
	if freed+g.Shrinks(series.Idle) > a[series.Untracked]/2 {
		a[series.Untracked] = 0
	}
	// The heap is part of the host: where it grows, the host does, unless
	// the host is known not to.
	if h := &g[series.Host]; a[series.Host] == 0 && a[series.Heap] > 0 && h.Known &&
		h.Amount() > a[series.Heap]/2 {
		a[series.Host] = a[series.Heap]
	}
	return a
}

// surelyFalls is how many errors below 0 a slope is sure to fall.
const surelyFalls = 4

// Shrinks is by how much a key surely falls, 0 when it does not.
func (g *Growths) Shrinks(k series.Key) float64 {
	if g[k].Known && g[k].T < -surelyFalls {
		return -g[k].Amount()
	}
	return 0
}

// Eclipsed is the undecided account that rose by far more than the one that gave
// the verdict: what surely grows is then not the answer. It is series.Keys without one.
func (g *Growths) Eclipsed(a [series.Keys]float64, blamed series.Key, whose finding.Owner) series.Key {
	if whose == finding.Unknown || blamed == series.Count || g[blamed].Loaded {
		return series.Keys
	}
	if blamed == series.Handles {
		return g.besideHandles()
	}
	for _, k := range [...]series.Key{series.Live, series.Idle, series.Untracked} {
		open := g[k].Known && g[k].Shape == trend.ShapeUndecided && !g[k].Loaded
		if open && g[k].Low*g[k].Span > eclipse*a[blamed] {
			return k
		}
	}
	return series.Keys
}

// besideHandles is the account that surely rose by far more than matters beside handles that
// have no bytes of their own: whoever holds what it has may hold the handles as well.
func (g *Growths) besideHandles() series.Key {
	for _, k := range series.AccountKeys {
		open := g[k].Known && g[k].Shape == trend.ShapeUndecided && !g[k].Loaded
		if open && g[k].Low*g[k].Span > eclipse*g[k].Delta {
			return k
		}
	}
	return series.Keys
}

// eclipse is how many times what surely grows another account must have risen by,
// at least, to leave it open whose growth it is.
const eclipse = 4
