package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Graphs and modules are kept in caches on purpose. So few more are a program's
// own matter (of an empty module the driver keeps 11 KiB, less than a MiB of
// these); up to mostCached, and where fewer come than before, a cache that still
// fills looks like a leak. On an H200 healthy programs of PyTorch, JAX and CuPy
// kept 19 modules; one of JAX that compiled a new shape each step came to 266 in
// 20 s.
const (
	leastCached = 64
	mostCached  = 256
	fills       = .85 // of the first half's rise, in the second
)

// How far a growth of handles alone is believed: of those of a cache, and where
// the program's own objects, which may hold them, were not counted or may grow.
const (
	cachedTrust = .7
	heldTrust   = .75
)

// examineHandles tests how many of each kind of handle are alive. The kind that
// grows with the most evidence becomes keyHandles; it counts where no bytes
// grow, since a handle costs little that a threshold of bytes would show.
func (s *subject) examineHandles() {
	for _, k := range account.HandleKinds() {
		alive := s.led.alive(k.Column)
		if stat.Quantile(stat.Known(alive), 1)-stat.Quantile(stat.Known(alive), 0) < account.MoreHandles {
			continue
		}
		l := *s.led
		l.series[keyHandles] = alive
		g := l.Examine(alive, l.question(keyHandles, s.cond))
		s.tested = append(s.tested, g.P)
		if !g.Growing() || g.Evidence <= s.grow[keyHandles].Evidence || !g.Accrues() || g.Rate < trend.Slowing*l.RateBefore(alive, &g) {
			continue
		}
		if k.Cached && (g.Amount() < leastCached || s.compiled(g.From) >= g.Amount()/2) {
			continue
		}
		s.handleKind, s.grow[keyHandles] = k, g
		s.led.series[keyHandles] = alive
	}
	if s.grow[keyHandles].Growing() && s.left.has() {
		s.whole.series[keyHandles] = s.whole.alive(s.handleKind.Column)
		s.left = findLeftovers(s.whole, s.run.Events, s.pid)
	}
}

// alive is how many handles of a kind are surely alive; nil when nobody counted
// them.
func (l *ledger) alive(column string) []float64 {
	if l.cols[column] == nil {
		return nil
	}
	// Each call that the capture missed may have been the end of a handle.
	return stat.Minus(l.cols[column], l.cols[record.ColCaptureLost])
}

// filling is how many more cached handles are alive than before where they may be
// a cache that fills; else 0.
func (s *subject) filling() float64 {
	g := &s.grow[keyHandles]
	if s.handleKind.Cached && g.Growing() && (g.Amount() < mostCached || g.Halves() < fills) {
		return g.Amount()
	}
	return 0
}

// fillingWords are the reason of an undecided.
func (s *subject) fillingWords() string {
	return fmt.Sprintf("the number of the driver's %s grows by %.0f while no bytes do: a cache that still fills looks like one that is never emptied",
		s.handleKind.Name, s.filling())
}

// handleTrust bounds the confidence of a growth of handles alone.
func (s *subject) handleTrust() float64 {
	trust := certain
	if s.handleKind.Cached {
		trust = cachedTrust
	}
	for _, k := range [...]key{keyLive, keyCount} {
		if s.led.series[k] == nil || s.grow[k].Shape == trend.ShapeUndecided {
			trust = math.Min(trust, heldTrust)
		}
	}
	return trust
}
