package verdict

import "github.com/gpumem/gpumem/report/trend"

// growths are what was found of each series.
type growths [keys]trend.Growth

// amounts is the growth of each key that grows, and 0 for the others. Idle or
// untracked bytes that only changed hands are no growth: the device holds
// as much as before.
func (g *growths) amounts() [keys]float64 {
	var a [keys]float64
	for k := key(0); k < keys; k++ {
		if g[k].Growing() {
			a[k] = g[k].Amount()
		}
	}
	freed := g.shrinks(keyLive)
	if freed > a[keyIdle]/2 {
		a[keyIdle] = 0
	}
	if freed+g.shrinks(keyIdle) > a[keyUntracked]/2 {
		a[keyUntracked] = 0
	}
	// The heap is part of the host: where it grows, the host does, unless
	// the host is known not to.
	if h := &g[keyHost]; a[keyHost] == 0 && a[keyHeap] > 0 && h.Known && h.Amount() > a[keyHeap]/2 {
		a[keyHost] = a[keyHeap]
	}
	return a
}

// surelyFalls is how many errors below 0 a slope is sure to fall.
const surelyFalls = 4

// shrinks is by how much a key surely falls, 0 when it does not.
func (g *growths) shrinks(k key) float64 {
	if g[k].Known && g[k].T < -surelyFalls {
		return -g[k].Amount()
	}
	return 0
}

// eclipsed is the undecided account that rose by far more than the one that gave
// the verdict: what surely grows is then not the answer. It is keys without one.
func (g *growths) eclipsed(a [keys]float64, blamed key, whose owner) key {
	if whose == unknown || blamed.counts() || g[blamed].Loaded {
		return keys
	}
	for _, k := range [...]key{keyLive, keyIdle, keyUntracked} {
		open := g[k].Known && g[k].Shape == trend.ShapeUndecided && !g[k].Loaded
		if open && g[k].Low*g[k].Span > eclipse*a[blamed] {
			return k
		}
	}
	return keys
}

// eclipse is how many times what surely grows another account must have risen by,
// at least, to leave it open whose growth it is.
const eclipse = 4
