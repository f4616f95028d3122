package cause

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// outgrown: one array is made anew, and larger, again and again.
func outgrown(c *Case) *Cause {
	steady := c.Count.Known && !c.Count.Growing()
	if c.Class != account.AppLeak || !c.ByTrend || !c.Live.Growing() || !c.Idle.Growing() || !steady {
		return nil
	}
	return &Cause{ID: Outgrown, Confidence: .8 * c.Confidence,
		Evidence: []string{
			fmt.Sprintf("live memory grows by %s in no more buffers than before", units.Bytes(c.Live.Gained())),
			fmt.Sprintf("the pool keeps %s more of blocks that became too small", units.Bytes(c.Idle.Gained())),
		},
		Next:   nextOfOutgrown,
		Change: changeOfOutgrown()}
}

// nextOfOutgrown is what to do about an array that is made anew, and larger.
const nextOfOutgrown = "keep only as much of the array as is needed, or make it as large as it will be once, " +
	"and fill it"

// changeOfOutgrown is the same as lines of a patch.
func changeOfOutgrown() []string {
	return []string{"- kept = torch.cat([kept, new])", "+ kept = torch.cat([kept, new])[-most:]"}
}

// outgrownOnHost: at the end one array holds what the host grew by.
func outgrownOnHost(c *Case) *Cause {
	if c.Class != account.HostGrowth || c.ByLeftover {
		return nil
	}
	for i := range c.Holders {
		h := &c.Holders[i]
		bytes := c.gained(h)
		if !h.IsOneThing() || h.Gone && h.OverMs == 0 || bytes < leastHeld*c.Size {
			continue
		}
		share := min(1, bytes/c.Size)
		return &Cause{ID: Outgrown, Confidence: (.5 + .4*share) * c.Confidence, Share: &share,
			Evidence: evidence("%s alone has %s of what grew", h.Path, units.Bytes(bytes)),
			Next:     nextOfOutgrown, Change: changeOfOutgrown()}
	}
	return nil
}

// Requests climb that the pool passes on to the driver where there are so many, of which nearly each
// is no smaller than the one before and some are larger, and those of the last third are so many times
// those of the first; where many are larger less is enough. Where none is smaller fewer rises do, of more
// requests: an allocator takes whole steps of 2 MiB, in which many a larger one is none. They have such a
// part of what grew.
const (
	manyRequests  = 6
	someRises     = 5
	fewRises      = 3
	inOrder       = 10 // requests of which none is smaller than the one before
	manyRises     = 20
	mostlyLarger  = .9
	timesLarger   = 1.25
	timesRisen    = 1.05
	partOfClimbed = .5
	liveOfClimbed = .25 // what is live may grow by as much: the array that is made anew
)

// outgrownRequests: what the program asks for anew each time is a little larger each time. No block that
// the pool keeps is large enough for the next.
func outgrownRequests(c *Case) *Cause {
	if c.Class != account.PoolGrowth || !c.ByTrend || c.Live.Growing() && c.Live.Gained() > liveOfClimbed*c.Size {
		return nil
	}
	sizes, all := passedOn(c)
	if len(sizes) < manyRequests || !climb(sizes) || all < partOfClimbed*c.Size {
		return nil
	}
	first, last := thirds(sizes)
	return &Cause{ID: Outgrown, Confidence: .85 * c.Confidence,
		Evidence: evidence("requests that the pool could not serve got larger, from %s on average in the first third "+
			"of %s samples to %s in the last: no block that it keeps is large enough for the next",
			units.Bytes(first), units.Whole(float64(len(sizes))), units.Bytes(last)),
		Next: nextOfOutgrown,
		Change: []string{"- scratch = torch.empty(n)",
			"+ scratch = whole[:n]  # with whole = torch.empty(most), once"}}
}

// climb reports whether requests get larger.
func climb(sizes []float64) bool {
	larger, rises := 0, 0
	for i := 1; i < len(sizes); i++ {
		if sizes[i] >= sizes[i-1] {
			larger++
		}
		if sizes[i] > sizes[i-1] {
			rises++
		}
	}
	times, enough := timesLarger, someRises
	if rises >= manyRises {
		times = timesRisen
	}
	if larger == len(sizes)-1 && len(sizes) >= inOrder {
		enough = fewRises
	}
	first, last := thirds(sizes)
	return rises >= enough && float64(larger) >= mostlyLarger*float64(len(sizes)-1) && last >= times*first
}

// thirds are the means of the first third of at least three sizes, and of the last.
func thirds(sizes []float64) (first, last float64) {
	n := len(sizes) / 3
	return stat.Mean(sizes[:n]), stat.Mean(sizes[len(sizes)-n:])
}

// passedOn are the bytes that the pool took from the driver each time, over the rows judged, and all of
// them. What an allocator takes in one go is one size; where several were taken between two rows it is
// their mean.
func passedOn(c *Case) (sizes []float64, all float64) {
	misses, live, idle := c.since(record.ColPoolMisses), c.since(record.ColLive), c.since(record.ColIdle)
	if misses == nil { // CuPy's pool does not count them: each is a call to the driver
		misses = c.since(record.ColDriverAllocs)
	}
	for _, s := range stat.Steps(misses, live, idle) {
		if s.Sum > 0 {
			sizes, all = append(sizes, s.Sum/s.Count), all+s.Sum
		}
	}
	return sizes, all
}
