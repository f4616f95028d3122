package cause

import (
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// StreamPools is the cause of idle memory that lies in pools of many streams.
const StreamPools = "pool-for-each-stream"

// Idle memory is the streams' where so many of them have some, and those beside the one
// with most have so much of it.
const (
	manyStreams  = 4
	leastBesides = .5
)

// poolForEachStream: what was freed on one stream is kept for that stream alone, and the
// program uses ever new ones.
func poolForEachStream(c *Case) *Cause {
	if c.Class != account.PoolGrowth {
		return nil
	}
	if len(c.Pools) == 0 {
		return c.poolForEachNew()
	}
	idle, all, most := map[int64]int64{}, int64(0), int64(0)
	for _, p := range c.Pools {
		if !p.Private && p.Idle > 0 {
			idle[p.Stream] += p.Idle
			all += p.Idle
		}
	}
	for _, bytes := range idle {
		most = max(most, bytes)
	}
	share := float64(all-most) / float64(max(all, 1))
	if len(idle) < manyStreams || share < leastBesides || float64(all) < leastHeld*c.Size {
		return nil
	}
	return &Cause{ID: StreamPools, Confidence: (.5 + .4*share) * c.Confidence,
		Evidence: evidence("%s idle is spread over the pools of %d streams: what one stream freed, no other can use",
			units.Bytes(all), len(idle)),
		Next: useAgain,
		Change: []string{"- stream = torch.cuda.Stream()",
			"+ stream = streams[i % len(streams)]  # with streams = [torch.cuda.Stream() for _ in range(2)], once"}}
}

const useAgain = "use a few streams again and again, and free what was made on a stream before it is left"

// sameCourse is by how much two columns may differ at half time in the part of their rise that has
// come by then, to have risen together.
const sameCourse = .15

// poolForEachNew is the same of an allocator that keeps its idle memory by stream and does not tell
// by which, as CuPy's does (cupy/cuda/memory.pyx: an arena for each stream): idle memory comes
// as streams do that are not destroyed.
func (c *Case) poolForEachNew() *Cause {
	more := c.total(record.ColStreams)
	if _, cupy := c.Meta.Versions["cupy"]; !cupy || !(more >= account.MoreHandles) {
		return nil
	}
	streams, idle := halfway(c.Judged.Columns[record.ColStreams]), halfway(c.Idle.Judged)
	if !(math.Abs(streams-idle) <= sameCourse) {
		return nil
	}
	return &Cause{ID: StreamPools, Confidence: .8 * c.Confidence,
		Site: c.madeMost(account.HandleKind{Column: record.ColStreams, Name: "streams"}, more),
		Evidence: evidence("%s more streams are alive, and %s idle came with each: what one stream freed, no other can use",
			units.Whole(more), units.Bytes(c.Size/more)),
		Next: useAgain,
		Change: []string{"- stream = cupy.cuda.Stream(non_blocking=True)",
			"+ stream = streams[i % len(streams)]  # with streams = [cupy.cuda.Stream(...) for _ in range(2)], once"}}
}

// halfway is the part of a column's rise that has come at half time; NaN where it does not rise.
func halfway(v []float64) float64 {
	rise := stat.Rise(v)
	if !(rise > 0) {
		return math.NaN()
	}
	return stat.Rise(v[:len(v)/2]) / rise
}
