package growth

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// stillPart is the part of the time since the device came to life in which a container
// that fills no more must have had the same length.
const stillPart = .5

// settleStill decides on what is live where its trend is open and the end found all of
// it, but for what does not matter, in containers that got no longer for half of the time
// and in single arrays: what is exchanged there makes no growth. Elements that get larger
// do, so what is live must have been as high before.
func (x *Examined) settleStill() {
	if x.Judged.Untimed || x.DeviceLived() < series.StartAlive {
		return
	}
	since, at, bytes, count := x.stillHeld()
	if bytes == 0 {
		return
	}
	for i, held := range [...]float64{series.Live: bytes, series.Count: count} {
		k := series.Key(i)
		g := &x.Grow[k]
		if !g.Known || g.Shape != trend.ShapeUndecided || x.Judged.Series[k] == nil {
			continue
		}
		delta := x.Whole.Delta(k)
		half := (since + at) / 2
		if x.Whole.Level(k, at)-held <= delta &&
			x.Whole.Highest(k, half, at) <= x.Whole.Highest(k, since, half)+delta {
			g.Settle(trend.Plateau, delta/2)
		}
	}
}

// stillHeld is what the end found in containers as long as a look found them long before,
// and in single arrays beside these, since when they were so long, and when that was;
// nothing where there is no such container.
func (x *Examined) stillHeld() (from, at, bytes, count float64) {
	long, since := map[string]int64{}, map[string]float64{}
	var last []record.Holder
	for _, e := range x.Events.About(x.PID) {
		if e.Kind != record.KindHolders {
			continue
		}
		at, last = e.TMs/1000, e.Holders
		for i := range last {
			h := &last[i]
			if seen, known := long[h.Path]; !known || seen != h.Length {
				long[h.Path], since[h.Path] = h.Length, at
			}
		}
	}
	still := 0
	for i := range last {
		h := &last[i]
		atTheEnd := !h.Gone && !h.Host && h.Graph == "" && h.OverMs == 0
		switch {
		case atTheEnd && h.Length > 0 && at-since[h.Path] >= stillPart*x.DeviceLived():
			still++
			from = math.Max(from, since[h.Path])
			bytes, count = bytes+float64(h.Bytes), count+float64(h.Count)
		case atTheEnd && h.Length == 0 && h.Count == 1:
			bytes, count = bytes+float64(h.Bytes), count+1
		}
	}
	if still == 0 {
		return 0, at, 0, 0
	}
	return from, at, bytes, count
}

// While a device is young the host's memory has some noise of first uses, and the trend is open about it
// for that alone. It stands still where a growth of youngSeen bytes a second would have been seen, and
// its bound is at most youngWide times the usual one. Both were chosen on 454 recordings of programs with a
// fault and as many of their twins: cut after 10 s, this decides on 26 twins and on none with a fault, and of
// the 290 of these that were cut after 8 s, too, on 12 twins and on 2 with a fault.
//
// Where no more than slowSeen a second can have gone unseen, and it does not surely rise by what matters, the
// bound may be wider, and the device older: a heap creeps by some hundred KiB a second until it has settled. These
// and hasSettled were chosen on 60 further programs with a fault and their twins, cut after 10 and 20 s.
const (
	youngSeen = 2 * mib
	youngWide = 2
	slowSeen  = mib / 2
	slowWide  = 2.5
	slowFor   = 24. // seconds of a device's use

	swaysSeen = .75 * mib // a second, of what is live
)

// Where host memory was seen for slightSeen seconds and has a slope that is no more than its error says, nothing
// speaks for a growth: the bound may be slightlyWide times the usual one. Under a sawtooth it is of what matters.
const (
	slightSeen   = 15.
	slightlyWide = 1.5
)

// settleSlight decides on host memory whose trend is open though it has hardly any.
func (x *Examined) settleSlight() {
	g := &x.Grow[series.Host]
	open := g.Known && g.Shape == trend.ShapeUndecided && !g.Loaded && !x.Judged.Untimed
	if !open || SpanOf(x, g) < slightSeen || g.Amount() >= g.Delta/2 || g.T >= 1 {
		return
	}
	limit := g.Limit
	if g.Cycle.Drops > 0 {
		limit = g.Delta
	}
	if g.Upper < slightlyWide*limit {
		g.Settle(trend.Flat, g.Upper)
	}
}

// settleYoung decides on host memory that is open only because so little was seen of it.
func (x *Examined) settleYoung() {
	g, lived := &x.Grow[series.Host], x.DeviceLived()
	open := g.Known && g.Shape == trend.ShapeUndecided && !g.Loaded && !x.Judged.Untimed
	if !open {
		return
	}
	hasDevice := lived > 0
	if !hasDevice {
		lived = x.Lived()
	}
	young := hasDevice && lived < series.StartAlive && g.Upper <= youngWide*g.Limit && g.Upper <= youngSeen*g.Span
	slow := lived < slowFor && g.Low*g.Span <= g.Delta && g.Upper <= slowWide*g.Limit && g.Upper <= slowSeen*g.Span
	if young || slow {
		g.Settle(trend.Flat, g.Upper)
	} else if hasDevice && lived < series.StartAlive && x.hasSettled() {
		g.Settle(trend.Step, slowSeen*g.Span)
	}
}

// settleSwaying decides, while a device is young, on what is live where that is open only because it sways:
// where no more than swaysSeen a second can have gone unseen, and it does not surely rise by what matters. Of
// its count, which is for what has few bytes, where its bytes surely stood still. This was chosen on 60 programs
// with a fault and their twins: cut after 8 to 30 s, it decides on 6 twins, and on none with a fault.
func (x *Examined) settleSwaying() {
	if lived := x.DeviceLived(); x.Judged.Untimed || lived <= 0 || lived >= slowFor {
		return
	}
	live, count := &x.Grow[series.Live], &x.Grow[series.Count]
	isOpen := func(g *trend.Growth) bool { return g.Known && g.Shape == trend.ShapeUndecided && !g.Loaded }
	if isOpen(live) && live.Low*live.Span <= live.Delta && live.Upper <= swaysSeen*live.Span {
		live.Settle(trend.Bounded, live.Upper)
	}
	if isOpen(count) && live.Known && !live.Growing() && live.Shape != trend.ShapeUndecided &&
		live.Upper <= swaysSeen*live.Span {
		count.Settle(trend.Bounded, count.Upper)
	}
}

// heapSeen is the growth of host memory, in bytes a second, that must have been seen for what lies free in the
// heap to be no growth; beyondSeen is that of all else.
const (
	heapSeen   = 2 * mib
	beyondSeen = mib / 2
)

// settleFree decides on host memory that is open though all of it but what lies free in the C heap stands still:
// a heap that is used by pieces of many sizes keeps some of each for a while. What it keeps of them without end
// grows by more.
func (x *Examined) settleFree() {
	g, free := &x.Grow[series.Host], x.Judged.Cols[record.ColHostHeapFree]
	if !g.Known || g.Shape != trend.ShapeUndecided || g.Loaded || x.Judged.Untimed || free == nil ||
		g.Upper > heapSeen*g.Span {
		return
	}
	beyond := stat.Minus(x.Judged.Series[series.Host], free)
	of := x.Judged.Examine(beyond, x.Judged.Question(series.Host, x.conditions))
	if of.Known && of.Shape != trend.ShapeUndecided && !of.Growing() && of.Upper <= beyondSeen*of.Span {
		g.Settle(trend.Bounded, g.Upper)
	}
}

// settledFor is for how many seconds the host's memory must have stood still, at about the end of a start in
// which it rose by far more: a program compiles its kernels in its first rounds, and loads what these need.
const settledFor = 4.

// hasSettled reports whether host memory rose no more than a heap creeps by in the last seconds, and none of the
// device's is higher than before: what has only just begun to grow is not over.
func (x *Examined) hasSettled() bool {
	l := x.Judged
	end := l.Clock[len(l.Clock)-1]
	since := end - settledFor
	if since < l.Clock[0] {
		return false
	}
	device := *l
	if live, idle := l.Series[series.Live], l.Series[series.Idle]; live != nil && idle != nil {
		device.Series[series.Idle] = stat.Plus(live, idle) // what it has of the driver, whatever moves in it
	}
	for _, k := range [...]series.Key{series.Live, series.Idle, series.Untracked, series.Device} {
		before := device.Highest(k, l.Clock[0], since)
		if device.Series[k] != nil && device.Highest(k, since, end) > before+l.Delta(k) {
			return false
		}
	}
	rise := l.Highest(series.Host, since, end) - l.Level(series.Host, since)
	return rise <= slowSeen*settledFor
}
