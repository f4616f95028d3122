package growth

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// A program that evaluates, or answers in bursts, takes memory for seconds and gives it
// all back. A few such teeth are too few for a trend, but where each fall ends as low as
// what was there before the first, nothing stayed.
const (
	leastValleys  = 3      // the one before the first tooth, and those after falls
	valleysSpan   = .6     // of the window, from the first valley to the last
	fallsBy       = 1. / 3 // of the height of the series, for a fall to end a tooth
	deepFall      = 8      // times what matters, at least
	sameLevel     = .03    // of the height, by which valleys of host memory may differ: a heap keeps some
	briefAtTheEnd = .1     // of the window, for a last fall that may still go on
)

// valley is the time between two teeth: its rows, and the lowest value in the second half
// of them, when what the tooth took is given back and warm-up is over.
type valley struct {
	from, to int
	level    float64
}

// settleTeeth decides on accounts that are open because of a few long teeth: where all
// falls end at about the same level, what stays is bounded.
func (x *Examined) settleTeeth() {
	for _, k := range [...]series.Key{series.Live, series.Host, series.Heap} {
		g, y := &x.Grow[k], x.Judged.Series[k]
		if y == nil || !g.Known || g.Shape != trend.ShapeUndecided || x.Judged.Untimed {
			continue
		}
		known := stat.Known(y)
		height := stat.Quantile(known, .99) - stat.Quantile(known, .01)
		delta := x.Judged.Delta(k)
		allowed := valleysSpan * delta // an allocator's own count is exact
		if k != series.Live {
			allowed = math.Max(delta, sameLevel*height)
		}
		if staysLow(x.Judged.Clock, y, math.Max(fallsBy*height, deepFall*delta), allowed) {
			g.Settle(trend.Bounded, allowed)
		}
	}
}

// staysLow reports whether a series has enough valleys between teeth that rise and fall
// by so much, over enough of the window, and all about as low; and whether a tooth that
// has not fallen yet is no higher than those before it.
func staysLow(clock, y []float64, fall, allowed float64) bool {
	list, last, before := valleys(y, fall)
	span := clock[len(clock)-1] - clock[0]
	if n := len(list) - 1; n >= 0 && clock[list[n].to]-clock[list[n].from] < briefAtTheEnd*span {
		list = list[:n]
	}
	if len(list) < leastValleys || last > before+allowed {
		return false
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range list {
		low, high = math.Min(low, v.level), math.Max(high, v.level)
	}
	return high-low <= allowed && clock[list[len(list)-1].to]-clock[list[0].from] >= valleysSpan*span
}

// valleys are those between teeth, which rise and fall by so much; last is the highest
// value of a tooth that has not fallen yet, and before that of those that have.
func valleys(y []float64, fall float64) (list []valley, last, before float64) {
	low, peak, from, up := math.Inf(1), 0., 0, false
	last, before = math.Inf(-1), math.Inf(-1)
	end := func(to int) {
		level := math.Inf(1)
		for _, v := range y[(from+to)/2 : to+1] {
			if v < level {
				level = v
			}
		}
		list = append(list, valley{from, to, level})
	}
	for i, v := range y {
		switch {
		case v != v:
		case up && v < peak-fall:
			before, up, low, from = math.Max(before, peak), false, v, i
		case up:
			peak = math.Max(peak, v)
		case v > low+fall:
			end(i)
			up, peak = true, v
		case v < low:
			low = v
		}
	}
	if up {
		return list, peak, before
	}
	end(len(y) - 1)
	return list, last, before
}

// Many short teeth leave the course of their valleys, which is that of what stays, however
// high they are.
const (
	leastFloors = 10  // valleys
	floorsSpan  = .75 // of the window, from the first to the last
	// floorsWithin is how surely they must not rise, in multiples of what matters, or as the part
	// floorsShare of the teeth's height: on a busy machine no row falls into a short valley.
	floorsWithin = 4
	floorsShare  = .4

	fewLevel = 6 // valleys of host memory that are as low, each time, below what seems to grow
)

// areLevel reports whether floors are as low each time: of what is live, of which an allocator's own count is
// exact, all of them, and of host memory within what a heap moves by, the second half as low as the first.
func areLevel(k series.Key, floor []float64, delta float64) bool {
	spread := slices.Max(floor) - slices.Min(floor)
	if k == series.Live {
		return spread <= delta/2
	}
	half := len(floor) / 2
	return spread <= 2*delta && stat.Median(floor[half:])-stat.Median(floor[:half]) <= delta/2
}

// settleFloors decides on host memory, and on what is live, that rises and falls again and again
// by far more than matters: by the lowest that each fall comes to. Blocks of the window hold several
// teeth each, and what the lowest rows of these have is as often on the way. That what is live grows
// below its teeth is for the looks and the blocks' ages to say; where each fall comes to the same,
// nothing stayed, however often rows fell into a tooth.
func (x *Examined) settleFloors() {
	for _, k := range [...]series.Key{series.Host, series.Live} {
		x.settleFloorsOf(k)
	}
	x.settleRising()
}

func (x *Examined) settleFloorsOf(k series.Key) {
	g, y := &x.Grow[k], x.Judged.Series[k]
	if y == nil || !g.Known || x.Judged.Untimed {
		return
	}
	delta := x.Judged.Delta(k)
	least, fewest := deepFall*delta, leastFloors
	switch {
	case g.Growing() && k == series.Live: // an allocator's own count is exact
		least = 0
	case g.Growing():
		least, fewest = least/2, fewLevel
	}
	at, floor, height := floorsOf(x.Judged.Clock, y, fallsBy, least)
	known := max(0, slices.IndexFunc(y, func(v float64) bool { return v == v }))
	span := x.Judged.Clock[len(x.Judged.Clock)-1] - x.Judged.Clock[known]
	if len(at) < fewest || at[len(at)-1]-at[0] < floorsSpan*span {
		return
	}
	if g.Growing() {
		if areLevel(k, floor, delta) {
			g.Settle(trend.Bounded, delta)
		}
		return
	}
	q := x.Judged.Question(k, x.conditions)
	of := trend.OfBlocks(at, floor, x.Judged.Clock[len(x.Judged.Clock)-1], q)
	most := math.Max(floorsWithin*of.Delta, floorsShare*height)
	switch {
	case of.Growing() && k == series.Live:
	case of.Growing():
		of.Reach = g.Reach
		*g = of
	case g.Shape == trend.ShapeUndecided && of.Shape != trend.ShapeUndecided && of.Upper <= most:
		g.Settle(trend.Bounded, math.Max(of.Upper, of.Delta))
	}
}

// floorsOf are the lowest values between teeth that fall by a part of the series' height, and by no
// less than least, when they were reached, and that height.
func floorsOf(clock, y []float64, part, least float64) (at, floor []float64, height float64) {
	known := stat.Known(y)
	height = stat.Quantile(known, .99) - stat.Quantile(known, .01)
	list, _, _ := valleys(y, math.Max(part*height, least))
	for _, v := range list[min(1, len(list)):] { // the first is the program's start
		if rows := stat.Known(y[v.from : v.to+1]); len(rows) > 0 {
			at, floor = append(at, clock[v.to]), append(floor, stat.Quantile(rows, 0))
		}
	}
	return at, floor, height
}
