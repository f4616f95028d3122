package growth

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// What generations of blocks must be like to say something.
const (
	emptyGenerations = 3 // that left none, for health
	fewEmpty         = 2 // of them, where they are of much of the time
	emptyPart        = 1. / 3
	stillAdding      = .7  // of the mean rate, at the latest generation
	emptyFor         = 6.  // seconds in which the generations without survivors came
	beyondTrend      = 1.2 // times what a trend leaves room for, for a contradiction
	emptyParts       = 3   // of the time of the generations, in each of which the lowest is looked for
	lowestOf         = 3   // the lowest value but for so many less one, which may be glitches
)

// findGenerations is what the ages of the allocator's blocks say of live memory: that
// each generation left survivors, which is a leak also below a sawtooth, or that none
// did; nil where they say neither.
func findGenerations(x *Examined) *finding.Finding {
	all := looks.Generations(&x.Process)
	if x.Whole.Series[series.Live] == nil || x.Whole.Untimed || !x.Grow[series.Live].Known {
		return nil
	}
	if n := len(all); n >= looks.KeepingGenerations {
		if f := x.foundKeeping(all[n-looks.KeepingGenerations:]); f != nil {
			return f
		}
	}
	for _, few := range [...]int{emptyGenerations, fewEmpty} {
		if n := len(all); n >= few {
			if f := x.foundEmpty(all[n-few:]); f != nil {
				return f
			}
		}
	}
	return nil
}

// foundKeeping is the finding that each of some generations left survivors, evenly and
// to the last; nil where they did not.
func (x *Examined) foundKeeping(list []looks.Generation) *finding.Finding {
	k := looks.KeptOf(list)
	size, count, lasted := k.Size, k.Count, k.Lasted
	first, last := &list[0], &list[len(list)-1]
	if !k.Stayed || !k.Even() || last.Rate() < stillAdding*size/lasted || size <= x.Whole.Delta(series.Live) {
		return nil
	}
	if x.DeviceLived() < series.StartAlive || last.To-x.DeviceBegan() < series.StartAlive {
		return nil // caches fill then
	}
	f := &finding.Finding{By: finding.ByObjects, Of: series.Live, Owner: finding.TheProgram, Size: size,
		Score: 1 - .15*math.Pow(.5, float64(len(list)-looks.KeepingGenerations))}
	f.Why = fmt.Sprintf("each of %d generations of blocks left survivors: of those handed out between %s and %s, "+
		"%s in %s were still live at %s", len(list), units.Span(first.From), units.Span(last.To),
		units.Bytes(size),
		units.Counted(int64(count), "block", "blocks"), units.Span(last.End))
	if g := &x.Grow[series.Live]; size > beyondTrend*g.Upper*lasted/SpanOf(x, g) {
		f.Owner = finding.Unknown // addresses that are used again look like blocks that stay
		f.Why = fmt.Sprintf("%s of blocks lived on from look to look, which is more than what is live can have grown by",
			units.Bytes(size))
	}
	return f
}

// SpanOf is the window of a growth in seconds.
func SpanOf(x *Examined, g *trend.Growth) float64 {
	clock := x.Judged.Clock
	if len(clock) == 0 {
		return 0
	}
	return clock[len(clock)-1] - clock[min(g.From, len(clock)-1)]
}

// foundEmpty is the finding that no generation left survivors, and that the lowest of
// what is live is as low as it was: a block that is replaced by a larger one again and
// again leaves none either. A few small blocks that are found at each look may lie where
// others did, so of their number the lowest alone counts then. Nil where it is not so.
func (x *Examined) foundEmpty(list []looks.Generation) *finding.Finding {
	bytes, count := 0., 0.
	for _, g := range list {
		bytes, count = bytes+g.Last, count+g.Count
	}
	first, last := &list[0], &list[len(list)-1]
	lasted := last.To - first.From
	if bytes > x.Whole.Delta(series.Live)/2 || lasted < emptyFor ||
		len(list) < emptyGenerations && lasted < emptyPart*x.DeviceLived() {
		return nil
	}
	many := x.Whole.Series[series.Count] != nil && count > x.Whole.Delta(series.Count)/2
	isAsLow := func(k series.Key) bool { return isAsLow(x.Judged, k, first.From, last.To, x.Whole.Delta(k)) }
	if !isAsLow(series.Live) || many && !isAsLow(series.Count) {
		return nil
	}
	return &finding.Finding{By: finding.ByObjects, Of: series.Live, Owner: finding.Nobody, Score: .9,
		Why: fmt.Sprintf(
			"blocks come and go, and none of those handed out between %s and %s was still live at %s",
			units.Span(first.From), units.Span(last.To), units.Span(last.End))}
}

// isAsLow reports whether a series was no higher at its lowest after some time than in a part of that
// time, but for what does not matter: in all of it, it comes down further by chance.
func isAsLow(l *series.Accounts, k series.Key, from, to, delta float64) bool {
	since := lowest(l, k, to, l.Clock[len(l.Clock)-1])
	length := (to - from) / emptyParts
	for n := range emptyParts {
		if begin := from + float64(n)*length; since <= lowest(l, k, begin, begin+length)+delta {
			return true
		}
	}
	return since <= lowest(l, k, from, to)+delta
}

// lowest is about the least that a series was between two times; NaN where too little is
// known.
func lowest(l *series.Accounts, k series.Key, from, to float64) float64 {
	var in []float64
	for i, v := range l.Series[k] {
		if c := l.Clock[i]; c > from && c <= to && v == v {
			in = append(in, v)
		}
	}
	if len(in) < 4*lowestOf {
		return math.NaN()
	}
	slices.Sort(in)
	return in[lowestOf-1]
}

// settleLive takes what is live for bounded where its trend is open and no generation
// of its blocks leaves survivors.
func (x *Examined) settleLive() {
	x.Ages = findGenerations(x)
	if x.Ages == nil || x.Ages.Owner != finding.Nobody {
		return
	}
	for _, k := range [...]series.Key{series.Live, series.Count} {
		if g := &x.Grow[k]; g.Known && g.Shape == trend.ShapeUndecided {
			g.Settle(trend.Bounded, x.Whole.Delta(k)/2) // the looks take so much for nothing
			x.SettledByAges = true
		}
	}
}
