package growth

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// A language that collects its objects takes memory up to a bound before it does, and keeps
// it. That the host rises then says nothing; what the last collection left does, and what
// lies outside of that heap.
const (
	leastCollections = 3      // of which the last must have come
	leastCourse      = 8      // where what they left was not all the same
	collectedSpan    = 1. / 2 // of the window after its beginning
	// leastFull are the collections of old objects from which what they leave is a trend.
	// Those that go on beside the program come in two steps, the first of which frees nothing.
	leastFull = 6
	// leftDead is the part of the heap that a collection may leave although it is dead: G1
	// passes by regions of which 85 % lives, and stops at 5 % of the heap.
	leftDead = 1. / 5
)

// outsidePart is the part of a growth that lies outside of the heap, from which the heap does
// not excuse it.
const outsidePart = 1. / 2

// collected is a process in view of the heap that its language collects.
type collected struct {
	*Examined
	heap, kept, collections, full []float64
	outside                       []float64 // of the host, that is not this heap's
}

// collectedOf is nil where nobody tells of such a heap.
func collectedOf(x *Examined) *collected {
	c := x.Judged.Cols
	o := &collected{Examined: x, heap: c[record.ColGCHeap], kept: c[record.ColGCKept],
		collections: c[record.ColGCCollections], full: c[record.ColGCFull]}
	if o.heap == nil || o.kept == nil || o.collections == nil || o.full == nil || x.Judged.Untimed {
		return nil
	}
	o.outside = stat.Minus(x.Judged.Series[series.Host], o.heap)
	return o
}

// FindCollected is the finding about host memory that rises while a heap is filled that is
// collected: what each collection left in it does not grow, nor does what lies outside of it.
// Nil of another.
func FindCollected(x *Examined) *finding.Finding {
	g := &x.Grow[series.Host]
	o := collectedOf(x)
	if o == nil || !g.Known || !g.Growing() && g.Shape != trend.ShapeUndecided || !x.onlyHostIsOpen() {
		return nil
	}
	if !o.isCollected() || !o.still(o.outside) || !o.still(o.kept) {
		return nil
	}
	return &finding.Finding{By: finding.ByObjects, Of: series.Host, Owner: finding.Nobody, Score: .9,
		Why: fmt.Sprintf("host memory rises as the Java heap is filled before it is collected: "+
			"the last of %s left %s in it, about as much as those before",
			units.Counted(int64(rose(o.collections)), "collection", "collections"), units.Bytes(lastOf(o.kept)))}
}

// onlyHostIsOpen reports whether no other account may grow.
func (x *Examined) onlyHostIsOpen() bool {
	for _, k := range series.TestedKeys {
		g := &x.Grow[k]
		open := g.Growing() || g.Known && g.Shape == trend.ShapeUndecided
		if k != series.Host && x.Judged.Series[k] != nil && open {
			return false
		}
	}
	return true
}

// isCollected reports whether collections came often enough, and late enough, to tell of what
// the program keeps: a few where they all left the same, more where that is to be a course.
func (o *collected) isCollected() bool {
	last, n, first := 0, 0, 0
	before := math.NaN()
	for i, v := range o.collections {
		if v > before {
			last, n = i, n+int(v-before)
			if first == 0 {
				first = i
			}
		}
		if v == v {
			before = v
		}
	}
	least := leastCollections
	if left := stat.Known(o.kept[first:]); stat.Quantile(left, 1)-stat.Quantile(left, 0) >
		o.Judged.Delta(series.Host) {
		least = leastCourse
	}
	clock := o.Judged.Clock
	return n >= least && clock[last]-clock[0] >= collectedSpan*(clock[len(clock)-1]-clock[0])
}

// still reports whether a part of the host surely grew by less than matters.
func (o *collected) still(part []float64) bool {
	g := o.Judged.Examine(part, o.Judged.Question(series.Host, o.conditions))
	return g.Known && !g.Growing() && g.Shape != trend.ShapeUndecided
}

// settleCollected decides on a host that is not seen to grow, as a heap that has come to its
// bound is in memory as a whole, by what the collections of old objects left: where that
// surely grows, and by more than such a collection may pass by, the host's growth is its.
func (x *Examined) settleCollected() {
	g := &x.Grow[series.Host]
	o := collectedOf(x)
	if o == nil || g.Growing() {
		return
	}
	if of, ok := o.floorsGrow(); ok {
		*g, x.Judged.Series[series.Host] = of, o.floors()
		x.KeptMore = fmt.Sprintf("host memory that the Java heap keeps grows by %s: %s of its old objects left ever "+
			"more, though the process has all of the heap in memory and takes no more", units.Bytes(of.Gained()),
			units.Counted(int64(rose(o.full)), "collection", "collections"))
	}
}

// DeadWords say so of a process whose host grows, where its heap does: promoted objects that
// died stay until a collection of old ones, for minutes where the heap may become large. Or
// where the rest does, and no collection came meanwhile. Empty where what such collections
// left grows, or the rest of the host grows from one to the next.
func DeadWords(x *Examined) string {
	o, g := collectedOf(x), &x.Grow[series.Host]
	if o == nil {
		return ""
	}
	if _, kept := o.floorsGrow(); kept {
		return ""
	}
	if stat.Rise(o.outside[g.From:]) >= outsidePart*stat.Rise(o.Judged.Series[series.Host][g.From:]) {
		return o.uncollectedWords(g.From)
	}
	often := "have not been collected"
	if n := rose(o.full); n > 0 {
		often = "were collected " + units.Counted(int64(n), "time", "times") + " without a growth that is sure"
	}
	return fmt.Sprintf("host memory grows as its Java heap does, whose old objects %s: what of its %s is dead is "+
		"not known; a longer run tells, or `jcmd PID GC.run` every few seconds while it runs", often,
		units.Bytes(lastOf(o.heap)))
}

// uncollectedWords say of a growth outside of the heap that it may be of direct buffers that
// nobody uses: a collection frees them, and most of the growth came after the last. Empty
// where collections came in between.
func (o *collected) uncollectedWords(from int) string {
	last, before := from, math.NaN()
	for i := from; i < len(o.collections); i++ {
		v := o.collections[i]
		if v > before {
			last = i
		}
		if v == v {
			before = v
		}
	}
	if stat.Rise(o.outside[last:]) < outsidePart*stat.Rise(o.outside[from:]) {
		return ""
	}
	return "host memory grows outside of its Java heap, and no collection came that would free direct buffers that " +
		"nobody uses: a longer run tells, or `jcmd PID GC.run` while it runs, after which only what is kept stays"
}

// floorsGrow is the growth of what the collections of old objects left; ok is false where it
// does not surely grow, or by no more than such a collection may pass by.
func (o *collected) floorsGrow() (g trend.Growth, ok bool) {
	if rose(o.full) < leastFull {
		return g, false
	}
	g = o.Judged.Examine(o.floors(), o.Judged.Question(series.Host, o.conditions))
	return g, g.Growing() && g.Gained() >= leftDead*stat.Quantile(stat.Known(o.heap), 1)
}

// floors is what the collections of old objects left, in the rows that follow each: the least
// until the one after the next. What came before the first, and after the last, is not known.
func (o *collected) floors() []float64 {
	var from []int // rows in which one had come
	before := math.NaN()
	for i, v := range o.full {
		if v > before {
			from = append(from, i)
		}
		if v == v {
			before = v
		}
	}
	out := make([]float64, len(o.kept))
	for i := range out {
		out[i] = math.NaN()
	}
	for n := 0; n+2 < len(from); n++ {
		least := stat.Quantile(stat.Known(o.kept[from[n]:from[n+2]]), 0)
		for i := from[n]; i < from[n+1]; i++ {
			out[i] = least
		}
	}
	return out
}

// rose is by how much a running total did.
func rose(total []float64) float64 {
	if r := stat.Rise(total); r == r {
		return r
	}
	return 0
}

func lastOf(v []float64) float64 {
	known := stat.Known(v)
	if len(known) == 0 {
		return 0
	}
	return known[len(known)-1]
}
