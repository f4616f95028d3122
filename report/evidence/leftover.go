package evidence

import (
	"math"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// LeftoverTrust is how far a leftover is believed by account: counters of the
// program are exact, the driver's also holds what it set up lazily.
var LeftoverTrust = map[series.Key]float64{series.Live: .97, series.Idle: .97, series.Untracked: .85,
	series.Host: .85}

// findWork is that a growth which all came back at released is no growth of a run
// without steps: it was the work itself, and what was left over says more than how
// it came to be. It is nil where the trend tells of more.
func findWork(left *series.Leftovers, growth finding.Finding, stepped bool) *finding.Finding {
	if growth.By != finding.ByTrend || stepped {
		return nil
	}
	held, ok := left.Of(growth.Of)
	if !ok || growth.Of.Counts() && held > growth.Size/2 {
		return nil // no leftover of bytes tells of things
	}
	return &finding.Finding{By: finding.ByLeftover, Of: series.Keys, Owner: finding.Nobody, Score: .95,
		Note: "growth between the marks baseline and released was judged by what was left over"}
}

// findLeftover is the account that holds most beyond the threshold; nil without one.
// What the program still refers to comes before what its pool keeps beside it, unless
// the pool keeps many times as much: a pool that gives all back at rest never rests
// while something is live.
// Host memory counts only when it grows from one repetition to the next: a
// runtime's heap and a program's code settle on first use.
func findLeftover(left *series.Leftovers, least float64) *finding.Finding {
	best, most := series.Keys, least
	for _, k := range [...]series.Key{series.Live, series.Idle, series.Untracked} {
		if b, ok := left.Of(k); ok && b > most {
			best, most = k, b
		}
	}
	if live, ok := left.Of(series.Live); best == series.Idle && ok && live > least && most <= Dwarfs*live {
		best, most = series.Live, live
	}
	if best == series.Keys && left.PerRepetition(series.Host) > least {
		best = series.Host
		most, _ = left.Of(series.Host)
	}
	if best == series.Keys {
		return nil
	}
	return &finding.Finding{By: finding.ByLeftover, Of: best, Owner: finding.OwnerOf(best),
		Score: LeftoverTrust[best], Size: most}
}

// findGaveBack is that the program gave back all it took: its own accounts were
// read at the marks, and no other may hold something. Else it is nil.
func findGaveBack(left *series.Leftovers, grow *growth.Growths, starting, stepped bool,
	least float64) *finding.Finding {
	_, live := left.Of(series.Live)
	_, idle := left.Of(series.Idle)
	if !live || !idle || mayHold(left, grow, starting, least) || stepped && roseByStep(grow, least) {
		return nil
	}
	return &finding.Finding{By: finding.ByLeftover, Of: series.Keys, Owner: finding.Nobody, Score: .9}
}

// heldNoise is how many deviations of its noise an account must hold beyond the
// threshold.
const heldNoise = 4

// mayHold reports whether an account that was tested for growth, and neither
// found to be still nor to grow but at its start, holds more at released than the
// threshold and its own noise, of what it rose by while the program worked. The mark
// baseline does not tell: a runtime's first use comes after it, and a busy machine
// reads it late, when some of that use is over. A short program is in its first use for
// most of its life: it holds nothing that did not still rise by the threshold in the
// later half of its work.
func mayHold(left *series.Leftovers, grow *growth.Growths, starting bool, least float64) bool {
	for _, k := range [...]series.Key{series.Untracked, series.Host} {
		g := &grow[k]
		open := g.Shape == trend.ShapeUndecided || starting && g.Shape == trend.Growing
		if !g.Known || !open {
			continue
		}
		held := g.Rise - left.CameBack(k, g.End)
		late := g.End - g.BlockY[len(g.BlockY)/2]
		if late > least && held > least+heldNoise*math.Hypot(g.Noise, g.Within) {
			return true
		}
	}
	return false
}

// roseByStep reports whether the program's own memory, of which no trend tells, rose by more than the
// threshold and its noise in the later half of a work that repeats: that is more than the work, also where
// all of it came back.
func roseByStep(grow *growth.Growths, least float64) bool {
	for _, k := range [...]series.Key{series.Live, series.Idle} {
		g := &grow[k]
		if !g.Known || g.Shape != trend.ShapeUndecided {
			continue
		}
		if late := g.End - g.BlockY[len(g.BlockY)/2]; late > least+heldNoise*math.Hypot(g.Noise, g.Within) {
			return true
		}
	}
	return false
}

// Dwarfs is by how many times a growth must be the larger for one of a surer tier to
// come second: a process that shares a few MiB of host memory is surely judged before
// one that loses a hundred times as much of the device is.
const Dwarfs = 8
