package growth

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// Graphs and modules are kept in caches on purpose. So few more are a program's
// own matter (of an empty module the driver keeps 11 KiB, less than a MiB of
// these); up to mostCached, and where fewer come than before, a cache that still
// fills looks like a leak. On an H200 healthy programs of PyTorch, JAX and CuPy
// kept 19 modules; one of JAX that compiled a new shape each step came to 266 in
// 20 s.
const (
	leastCached = 64
	MostCached  = 256
	fills       = .85 // of the first half's rise, in the second
)

// How far a growth of handles alone is believed: of those of a cache, and where
// the program's own objects, which may hold them, were not counted or may grow.
const (
	CachedTrust = .7
	heldTrust   = .75
)

// Filling is how many more cached handles are alive than before where they may be
// a cache that fills; else 0.
func Filling(kind account.HandleKind, g *trend.Growth) float64 {
	if kind.Cached && g.Growing() && (g.Amount() < MostCached || g.Halves() < fills) {
		return g.Amount()
	}
	return 0
}

// FillingWords are the reason of an undecided.
func FillingWords(kind account.HandleKind, more float64) string {
	return fmt.Sprintf("the number of the driver's %s grows by %s while no bytes do: "+
		"a cache that still fills looks like one that is never emptied", kind.Name, units.Whole(more))
}

// HandleTrust bounds the confidence of a growth of handles alone.
func (x *Examined) HandleTrust() float64 {
	trust := finding.Certain
	if x.Kind.Cached {
		trust = CachedTrust
	}
	for _, k := range [...]series.Key{series.Live, series.Count} {
		if x.Judged.Series[k] == nil || x.Grow[k].Shape == trend.ShapeUndecided {
			trust = math.Min(trust, heldTrust)
		}
	}
	return trust
}
