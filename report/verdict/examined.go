package verdict

import (
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
)

// examined is a process with the growth of each of its series.
type examined struct {
	process
	grow    growths
	kind    account.HandleKind // of keyHandles
	tested  []float64          // p-values of all kinds of handles
	records driverRecords

	ages          *finding // of the generations of its allocator's blocks; nil where they say nothing
	settledByAges bool     // it is they that say that what is live is bounded

	conditions trend.Conditions
	keptMore   string // what says so where it is the collected heap that tells of the host's growth
}

// examine tests each series of a process for growth.
func examine(p process, c trend.Conditions) *examined {
	x := &examined{process: p, conditions: c}
	for k := key(0); k < keys; k++ {
		x.grow[k] = x.judged.Examine(x.judged.series[k], x.judged.question(k, c))
	}
	x.settleLive()
	x.settleStill()
	x.settleStopped()
	x.settleRecurring()
	x.settleTeeth()
	x.settleFloors()
	x.settleIdle(c)
	x.settleAsked(c)
	x.settleSwaps()
	x.settleLoads(c)
	x.settleCollected()
	x.examineHandles(c)
	x.records = x.findRecords()
	return x
}

// settleIdle decides on idle bytes that are open because what is live sways: where that
// surely does not grow, and what the pool has of the driver, the sum of both, surely
// grew by less than matters, the pool keeps no more than before.
func (x *examined) settleIdle(c trend.Conditions) {
	idle, live := &x.grow[keyIdle], &x.grow[keyLive]
	if idle.Shape != trend.ShapeUndecided || !live.Known || live.Growing() || live.Shape == trend.ShapeUndecided {
		return
	}
	reserved := stat.Plus(x.judged.series[keyLive], x.judged.series[keyIdle])
	g := x.judged.Examine(reserved, x.judged.question(keyIdle, c))
	if g.Known && !g.Growing() && g.Shape != trend.ShapeUndecided && g.Upper < g.Delta {
		idle.Shape, idle.Known, idle.Upper, idle.Limit = trend.Bounded, true, g.Upper, g.Limit
	}
}

// settleAsked decides on untracked bytes of which a part is known to the byte whenever it is
// read: what was asked of the driver beyond what is live and idle. Where that surely grows it
// does below whatever comes and goes in the device's total, unless half of it would have been
// seen there: managed memory is counted for nobody.
func (x *examined) settleAsked(c trend.Conditions) {
	g, asked := &x.grow[keyUntracked], x.judged.asked
	if asked == nil || !g.Known || g.Growing() {
		return
	}
	of := x.judged.Examine(asked, x.judged.question(keyUntracked, c))
	if of.Growing() && g.Upper >= of.Amount()/2 {
		*g = of
	}
}

// settleSwaps decides on untracked bytes that are what the device holds less what a pool
// says it has idle. The two are read at different moments: a piece that the pool holds for
// some of them is now counted in both, now in one, now in the other. Where what the device
// holds beyond what is live comes back to its level, and what is idle does, nothing stays
// that neither of them shows.
func (x *examined) settleSwaps() {
	g, idle, beyond := &x.grow[keyUntracked], x.judged.series[keyIdle], x.judged.series[keyUntracked]
	still := !g.Known || g.Shape != trend.ShapeUndecided && !g.Growing()
	if still || idle == nil || x.grow[keyIdle].Growing() {
		return
	}
	delta := x.judged.delta(keyUntracked)
	if most, ok := trend.ComesBack(stat.Plus(beyond, idle), delta); ok && trend.KeepsLevel(idle, delta) {
		g.Settle(trend.Bounded, most)
	}
}

// examineHandles tests how many of each kind of handle are alive. The kind that
// grows with the most evidence becomes keyHandles; it counts where no bytes
// grow, since a handle costs little that a threshold of bytes would show.
func (x *examined) examineHandles(c trend.Conditions) {
	for _, k := range account.HandleKinds() {
		alive := x.judged.alive(k.Column)
		if stat.Quantile(stat.Known(alive), 1)-stat.Quantile(stat.Known(alive), 0) < account.MoreHandles {
			continue
		}
		l := *x.judged
		l.series[keyHandles] = alive
		g := l.Examine(alive, l.question(keyHandles, c))
		x.tested = append(x.tested, g.P)
		if !g.Growing() || g.Evidence <= x.grow[keyHandles].Evidence {
			continue
		}
		if !g.Accrues() || g.Rate < trend.Slowing*l.RateBefore(alive, &g) {
			continue
		}
		if k.Cached && (g.Amount() < leastCached || x.judged.compiled(g.From) >= g.Amount()/2) {
			continue
		}
		x.kind, x.grow[keyHandles] = k, g
		x.judged.series[keyHandles] = alive
	}
	if x.grow[keyHandles].Growing() && x.left.has() {
		x.whole.series[keyHandles] = x.whole.alive(x.kind.Column)
		x.left = leftAtMarks(x.whole, x.events)
	}
}
