package cause

import (
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
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
		Next: "use a few streams again and again, and free what was made on a stream before it is left",
		Change: []string{"- stream = torch.cuda.Stream()",
			"+ stream = streams[i % len(streams)]  # with streams = [torch.cuda.Stream() for _ in range(2)], once"}}
}
