package growth

import (
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// Examine tests each series of a process for growth.
func Examine(p series.Process, c trend.Conditions) *Examined {
	x := &Examined{Process: p, conditions: c}
	for k := series.Key(0); k < series.Keys; k++ {
		x.Grow[k] = x.Judged.Examine(x.Judged.Series[k], x.Judged.Question(k, c))
	}
	x.settleLive()
	x.settleStill()
	x.settleStopped()
	x.settleRecurring()
	x.settleLows()
	x.settleTeeth()
	x.settleFloors()
	x.settleIdle(c)
	x.settleAsked(c)
	x.settleSwaps()
	x.settleLoads(c)
	x.settleYoung()
	x.settleSlight()
	x.settleFree()
	x.settleSwaying()
	x.settleCollected()
	x.examineHandles(c)
	x.Records = x.FindRecords()
	return x
}

// surelyRises is how many errors above 0 the slope of what the pool has must be, to leave open whether it grows.
const surelyRises = 4

// fewLive of what the pool has more of the driver is so little that what is live may have it.
const fewLive = 1. / 8

// settleIdle decides on idle bytes that are hard to see because what is live sways: where that surely does
// not grow, or by far less, what the pool has of the driver, the sum of both, tells. Where it surely grew by
// less than matters, the pool keeps no more than before. Where it surely grows, the pool keeps more, unless half
// of it would have been seen, or what is live may have grown by all of it below its swaying: then idle bytes
// are open, or what is live is where the pool keeps too little.
func (x *Examined) settleIdle(c trend.Conditions) {
	idle, live := &x.Grow[series.Idle], &x.Grow[series.Live]
	if idle.Growing() || !live.Known || live.Shape == trend.ShapeUndecided {
		return
	}
	reserved := stat.Plus(x.Judged.Series[series.Live], x.Judged.Series[series.Idle])
	g := x.Judged.Examine(reserved, x.Judged.Question(series.Idle, c))
	unseen := idle.Upper >= g.Amount()/2
	switch {
	case live.Growing():
		isMore := g.Growing() && live.Amount() <= fewLive*g.Amount()
		if unseen && (isMore || g.Shape == trend.ShapeUndecided && g.Low*g.Span > eclipse*live.Amount()) {
			*idle = g // surely more, whether it will go on or not
		}
	case g.Growing() && unseen && live.Upper < g.Amount():
		*idle = g
	case g.Growing() && unseen: // what is live may be all of it
		idle.Shape = trend.ShapeUndecided
	case g.Growing() && live.Upper >= g.Amount()/2: // or must be
		live.Shape = trend.ShapeUndecided
	case idle.Shape == trend.Flat && unseen && g.Known && g.Shape == trend.ShapeUndecided && g.T >= surelyRises &&
		g.Amount() > g.Delta:
		idle.Shape = trend.ShapeUndecided
	case idle.Shape == trend.ShapeUndecided && g.Known && !g.Growing() && g.Shape != trend.ShapeUndecided &&
		g.Upper < g.Delta:
		idle.Shape, idle.Known, idle.Upper, idle.Limit = trend.Bounded, true, g.Upper, g.Limit
	}
}

// settleAsked decides on untracked bytes of which a part is known to the byte whenever it is
// read: what was asked of the driver beyond what is live and idle. Where that surely grows it
// does below whatever comes and goes in the device's total, unless half of it would have been
// seen there: managed memory is counted for nobody.
func (x *Examined) settleAsked(c trend.Conditions) {
	g, asked := &x.Grow[series.Untracked], x.Judged.Asked
	if asked == nil || !g.Known || g.Growing() {
		return
	}
	of := x.Judged.Examine(asked, x.Judged.Question(series.Untracked, c))
	if of.Growing() && g.Upper >= of.Amount()/2 {
		*g = of
	}
}

// settleSwaps decides on untracked bytes that are what the device holds less what a pool
// says it has idle. The two are read at different moments: a piece that the pool holds for
// some of them is now counted in both, now in one, now in the other. Where what the device
// holds beyond what is live comes back to its level, and what is idle does, nothing stays
// that neither of them shows.
func (x *Examined) settleSwaps() {
	g, idle, beyond := &x.Grow[series.Untracked], x.Judged.Series[series.Idle],
		x.Judged.Series[series.Untracked]
	still := !g.Known || g.Shape != trend.ShapeUndecided && !g.Growing()
	if still || idle == nil || x.Grow[series.Idle].Growing() {
		return
	}
	delta := x.Judged.Delta(series.Untracked)
	if most, ok := trend.ComesBack(stat.Plus(beyond, idle), delta); ok && trend.KeepsLevel(idle, delta) {
		g.Settle(trend.Bounded, most)
	}
}

// examineHandles tests how many of each kind of handle are alive. The kind that
// grows with the most evidence becomes series.Handles; it counts where no bytes
// grow, since a handle costs little that a threshold of bytes would show.
func (x *Examined) examineHandles(c trend.Conditions) {
	for _, k := range account.HandleKinds() {
		alive := x.Judged.Alive(k.Column)
		if stat.Quantile(stat.Known(alive), 1)-stat.Quantile(stat.Known(alive), 0) < account.MoreHandles {
			continue
		}
		l := *x.Judged
		l.Series[series.Handles] = alive
		g := l.Examine(alive, l.Question(series.Handles, c))
		x.Tested = append(x.Tested, g.P)
		if !g.Growing() || g.Evidence <= x.Grow[series.Handles].Evidence {
			continue
		}
		if !g.Accrues() || g.Rate < trend.Slowing*l.RateBefore(alive, &g) {
			continue
		}
		if k.Cached && (g.Amount() < leastCached || x.Judged.Compiled(g.From) >= g.Amount()/2) {
			continue
		}
		x.Kind, x.Grow[series.Handles] = k, g
		x.Judged.Series[series.Handles] = alive
	}
	if x.Grow[series.Handles].Growing() && x.Left.Has() {
		x.Whole.Series[series.Handles] = x.Whole.Alive(x.Kind.Column)
		x.Left = series.LeftAtMarks(x.Whole, x.Events)
	}
}
