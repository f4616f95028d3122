package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// What generations of blocks must be like to say something.
const (
	keepingGenerations = 4 // that each left survivors, for a leak
	emptyGenerations   = 3 // that left none, for health
	fewEmpty           = 2 // of them, where they are of much of the time
	emptyPart          = 1. / 3
	stayed             = .9  // of what survived its first look, up to the last
	evenly             = .5  // of the fastest rate, at the slowest generation
	stillAdding        = .7  // of the mean rate, at the latest generation
	emptyFor           = 6.  // seconds in which the generations without survivors came
	sameLook           = .5  // seconds by which two tellings of a look's time may differ
	beyondTrend        = 1.2 // times what a trend leaves room for, for a contradiction
	lowestOf           = 3   // the lowest value but for so many less one, which may be glitches
)

// generation is what became of the blocks that were handed out between two looks.
type generation struct {
	from, to      float64 // seconds: the two looks
	first, last   float64 // bytes that lived at the look after them, and at the last one
	count         float64 // blocks that lived at the last one
	lookedAt, end float64 // when that look after them was, and the last one
}

// rate is how fast survivors came, in bytes a second.
func (g *generation) rate() float64 { return g.last / (g.to - g.from) }

// kept is what some generations left together.
type kept struct {
	size, count, lasted float64 // bytes or things, blocks, seconds
	slowest, fastest    float64 // rates of survivors
	stayed              bool    // what a collection takes later is a sawtooth, too
}

// keptOf is what generations left.
func keptOf(list []generation) kept {
	k := kept{slowest: math.Inf(1), stayed: true, lasted: list[len(list)-1].to - list[0].from}
	for i := range list {
		g := &list[i]
		k.stayed = k.stayed && g.last >= stayed*g.first
		k.slowest, k.fastest = math.Min(k.slowest, g.rate()), math.Max(k.fastest, g.rate())
		k.size, k.count = k.size+g.last, k.count+g.count
	}
	return k
}

// even reports whether each generation left about as much for its time.
func (k *kept) even() bool { return k.slowest > 0 && k.slowest >= evenly*k.fastest }

// generations are those of the process that later looks found again, the oldest first,
// without what lived at the first look.
func generations(p *series.Process) []generation {
	var out []generation
	for _, e := range p.Events.About(p.PID) {
		list := record.GenerationsOf(e)
		if len(list) == 0 {
			continue
		}
		at, before := e.TMs/1000, out
		out = nil
		for i := 1; i < len(list)-1; i++ {
			one := generation{from: at - list[i-1].AgoMs/1000, to: at - list[i].AgoMs/1000, lookedAt: at}
			one.first = float64(list[i].Bytes)
			if j := slices.IndexFunc(before, func(g generation) bool { return math.Abs(g.to-one.to) < sameLook }); j >= 0 {
				one.first, one.lookedAt = before[j].first, before[j].lookedAt
			}
			one.last, one.count, one.end = float64(list[i].Bytes), float64(list[i].Count), at
			out = append(out, one)
		}
	}
	return out
}

// findGenerations is what the ages of the allocator's blocks say of live memory: that
// each generation left survivors, which is a leak also below a sawtooth, or that none
// did; nil where they say neither.
func findGenerations(x *examined) *finding {
	all := generations(&x.Process)
	if x.Whole.Series[series.Live] == nil || x.Whole.Untimed || !x.grow[series.Live].Known {
		return nil
	}
	if n := len(all); n >= keepingGenerations {
		if f := x.foundKeeping(all[n-keepingGenerations:]); f != nil {
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
func (x *examined) foundKeeping(list []generation) *finding {
	k := keptOf(list)
	size, count, lasted := k.size, k.count, k.lasted
	first, last := &list[0], &list[len(list)-1]
	if !k.stayed || !k.even() || last.rate() < stillAdding*size/lasted || size <= x.Whole.Delta(series.Live) {
		return nil
	}
	if x.DeviceLived() < series.StartAlive || last.to-x.DeviceBegan() < series.StartAlive {
		return nil // caches fill then
	}
	f := &finding{by: ByObjects, of: series.Live, owner: theProgram, size: size,
		score: 1 - .15*math.Pow(.5, float64(len(list)-keepingGenerations))}
	f.why = fmt.Sprintf("each of %d generations of blocks left survivors: of those handed out between %s and %s, "+
		"%s in %s were still live at %s", len(list), units.Span(first.from), units.Span(last.to),
		units.Bytes(size),
		units.Counted(int64(count), "block", "blocks"), units.Span(last.end))
	if g := &x.grow[series.Live]; size > beyondTrend*g.Upper*lasted/spanOf(x, g) {
		f.owner = unknown // addresses that are used again look like blocks that stay
		f.why = fmt.Sprintf("%s of blocks lived on from look to look, which is more than what is live can have grown by",
			units.Bytes(size))
	}
	return f
}

// spanOf is the window of a growth in seconds.
func spanOf(x *examined, g *trend.Growth) float64 {
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
func (x *examined) foundEmpty(list []generation) *finding {
	bytes, count := 0., 0.
	for _, g := range list {
		bytes, count = bytes+g.last, count+g.count
	}
	first, last := &list[0], &list[len(list)-1]
	lasted := last.to - first.from
	if bytes > x.Whole.Delta(series.Live)/2 || lasted < emptyFor ||
		len(list) < emptyGenerations && lasted < emptyPart*x.DeviceLived() {
		return nil
	}
	many := x.Whole.Series[series.Count] != nil && count > x.Whole.Delta(series.Count)/2
	isAsLow := func(k series.Key) bool { return isAsLow(x.Judged, k, first.from, last.to, x.Whole.Delta(k)) }
	if !isAsLow(series.Live) || many && !isAsLow(series.Count) {
		return nil
	}
	return &finding{by: ByObjects, of: series.Live, owner: nobody, score: .9, why: fmt.Sprintf(
		"blocks come and go, and none of those handed out between %s and %s was still live at %s",
		units.Span(first.from), units.Span(last.to), units.Span(last.end))}
}

// isAsLow reports whether a series was no higher at its lowest after some time than
// within it, but for what does not matter.
func isAsLow(l *series.Accounts, k series.Key, from, to, delta float64) bool {
	return lowest(l, k, to, l.Clock[len(l.Clock)-1]) <= lowest(l, k, from, to)+delta
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
func (x *examined) settleLive() {
	x.ages = findGenerations(x)
	if x.ages == nil || x.ages.owner != nobody {
		return
	}
	for _, k := range [...]series.Key{series.Live, series.Count} {
		if g := &x.grow[k]; g.Known && g.Shape == trend.ShapeUndecided {
			g.Settle(trend.Bounded, x.Whole.Delta(k)/2) // the looks take so much for nothing
			x.settledByAges = true
		}
	}
}

// weighAges lets the ages of blocks stand beside the trend, as containers do.
func weighAges(s *settled, f *finding) {
	d := &s.decision
	switch {
	case f == nil || f.owner == unknown:
		if f != nil && d.class == Undecided {
			d.notes = append(d.notes, f.why)
		}
	case f.owner == nobody:
		if s.settledByAges && d.class == None && d.restsOn == "" {
			d.take(*f)
		}
	case d.restsOn == ByObjects && d.class == None: // a container with a bound fills up
	case d.class == Undecided && (d.primary == series.Keys || d.primary == series.Live), d.class == None &&
		d.restsOn == "":
		d.take(*f)
		d.shares, d.lacking = nil, false
		s.grow[series.Live].Shape = trend.Growing
	case d.class == AppLeak && d.primary == series.Live && d.restsOn != ByLeftover:
		d.bounds = append(d.bounds, bound{least: f.score, most: 1})
	}
}
