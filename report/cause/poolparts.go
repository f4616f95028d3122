package cause

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// leastPools is how many pools more are no pool for each of some threads or devices.
const leastPools = 4

// poolsKept: the program makes pools of its own, and keeps each with all the memory that it has.
func poolsKept(c *Case) *Cause {
	if c.Class != account.PoolGrowth || !c.ByTrend {
		return nil
	}
	var most *record.Holder
	for i := range c.Holders {
		h := &c.Holders[i]
		class, _, _ := strings.Cut(h.Path, " ")
		if h.OfClass() && h.Bytes == 0 && (!h.Gone || h.OverMs > 0) && strings.HasSuffix(class, "Pool") &&
			h.Count >= leastPools && (most == nil || h.Count > most.Count) {
			most = h
		}
	}
	if most == nil {
		return nil
	}
	made, _, _ := strings.Cut(most.Filled, "; ")
	return &Cause{ID: OwnPools, Confidence: .75 * c.Confidence, Site: made,
		Evidence: evidence("%d more %s came, each with memory of its own", most.Count, most.Path),
		Next: "drop each of the " + most.Path + " when what it was made for is done, or use a few of them " +
			"again and again",
		Change: []string{"- pools[job] = pool", "+ used[job] = pool.total_bytes()  # and lets go of the pool"}}
}

// The pool is in pieces where it takes so many blocks more, nearly all of one size, while it has many
// times that beyond the most that was seen live.
const (
	leastAlike = 6
	alike      = .9 // of the size of the block that has the middle byte, and as much more
	mostAlike  = .8 // of what the blocks have together: a program's first small ones say nothing of it
	manyFit    = 4.
)

// heaviest is the size of the blocks that have the middle one of so many bytes, sorted by size.
func heaviest(sizes []float64, all float64) float64 {
	sum := 0.
	for _, size := range slices.Sorted(slices.Values(sizes)) {
		if sum += size; sum >= all/2 {
			return size
		}
	}
	return 0
}

// poolFragmented: the pool asks the driver for blocks as large as those before, although it has idle many times
// as much: pieces that live on lie between what is idle.
func poolFragmented(c *Case) *Cause {
	rises := c.Live.Growing() && c.Live.Gained() > liveOfClimbed*c.Size
	if c.Class != account.PoolGrowth || !c.ByTrend || rises || c.missRate() > .5 {
		return nil // where most requests miss it is a matter of size classes
	}
	sizes, all := passedOn(c)
	if len(sizes) < leastAlike || all < partOfClimbed*c.Size {
		return nil
	}
	middle := heaviest(sizes, all)
	like, together := 0, 0.
	for _, size := range sizes {
		if size >= alike*middle && size <= middle/alike {
			like, together = like+1, together+size
		}
	}
	live := c.since(record.ColLive)
	beyond := stat.Quantile(stat.Known(stat.Plus(live, c.since(record.ColIdle))), 1) - stat.Quantile(stat.Known(live), 1)
	if like < leastAlike || together < mostAlike*all || !(beyond >= manyFit*middle) {
		return nil
	}
	next := "copy what lives long into a place that was made before, so that it does not lie in blocks that are " +
		"used again and again"
	if c.hasAny("torch") {
		next += "; or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
	}
	return &Cause{ID: PoolFragmented, Confidence: .8 * c.Confidence,
		Evidence: evidence("the pool took %s blocks of some %s each, while it has %s beyond the most that was seen "+
			"live: what is idle lies in pieces", units.Whole(float64(like)), units.Bytes(middle),
			units.Bytes(beyond)),
		Next:   next,
		Change: []string{"- kept[i] = pieces[-1]", "+ kept[i].copy_(pieces[-1])  # into a place made once"}}
}
