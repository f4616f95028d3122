package cause

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
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
