package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/trend"
)

// leftoverTrust is how far a leftover is believed by account: counters of the
// program are exact, the driver's also holds what it set up lazily.
var leftoverTrust = map[key]float64{keyLive: .97, keyIdle: .97, keyUntracked: .85, keyHost: .85}

// findLeftovers adds what the marks tell. What was left over stands beside the
// trend. Growth that all came back at released is no growth of a run without
// steps: it was the work itself.
func (x *examined) findLeftovers(f *findings) {
	if !x.left.has() {
		return
	}
	if f.trend.by == ByTrend && x.onlyWork(f.trend.of) {
		f.work = &finding{by: ByLeftover, of: keys, owner: nobody, score: .95,
			note: "growth between the marks baseline and released was judged by what was left over"}
	}
	switch k, bytes := x.largestLeftover(); {
	case k != keys:
		f.leftover = &finding{by: ByLeftover, of: k, owner: ownerOf(k), score: leftoverTrust[k], size: bytes}
	case x.leftoversKnown() && !x.mayHold():
		f.gaveBack = &finding{by: ByLeftover, of: keys, owner: nobody, score: .9}
	}
}

// largestLeftover is the account that holds most beyond the threshold. Host
// memory counts only when it grows from one repetition to the next: a
// runtime's heap and a program's code settle on first use.
func (x *examined) largestLeftover() (key, float64) {
	best, most := keys, x.o.leftover()
	for _, k := range [...]key{keyLive, keyIdle, keyUntracked} {
		if b, ok := x.left.of(k); ok && b > most {
			best, most = k, b
		}
	}
	if best == keys && x.left.perRepetition(keyHost) > x.o.leftover() {
		best = keyHost
		most, _ = x.left.of(keyHost)
	}
	return best, most
}

// leftoversKnown reports whether the program's own accounts were read at the
// marks.
func (x *examined) leftoversKnown() bool {
	_, live := x.left.of(keyLive)
	_, idle := x.left.of(keyIdle)
	return live && idle
}

// heldNoise is how many deviations of its noise an account must hold beyond the
// threshold.
const heldNoise = 4

// mayHold reports whether an account that was tested for growth, and neither
// found to grow nor to be still, holds more at released than the threshold and
// its own noise: as much as it rose while the program worked, and no more than it
// is above the baseline. A runtime's first use is in the second alone, and what
// came back at released in the first. A short program is in its first use for most
// of its life: it holds nothing that did not still rise by the threshold in the
// later half of its work.
func (x *examined) mayHold() bool {
	for _, k := range [...]key{keyUntracked, keyHost} {
		g := &x.grow[k]
		if !g.Known || g.Shape != trend.ShapeUndecided {
			continue
		}
		held := g.Rise
		if b, ok := x.left.of(k); ok {
			held = math.Min(held, b)
		}
		least := x.o.leftover()
		late := g.End - g.BlockY[len(g.BlockY)/2]
		if late > least && held > least+heldNoise*math.Hypot(g.Noise, g.Within) {
			return true
		}
	}
	return false
}

// onlyWork reports whether the growth of a series is the work between the marks, in
// a run whose steps do not make it a growth of its own: what was left over then
// says more than how it came to be.
func (x *examined) onlyWork(k key) bool {
	if x.judged.Stepped() {
		return false
	}
	left, ok := x.left.of(k)
	if k.counts() && left > x.grow[k].Amount()/2 {
		return false // no leftover of bytes tells of them
	}
	return ok
}
