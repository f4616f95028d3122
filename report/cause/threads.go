package cause

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// threadsLeft: host memory grows with the number of threads, which is more than a pool of
// them has. Where holders tell the same, they are asked.
func threadsLeft(c *Case) *Cause {
	told := func(h record.Holder) bool { return HeldKind(&h) == Threads && h.Bytes > 0 }
	if c.Class != account.HostGrowth || !(c.Threads > 0) || slices.ContainsFunc(c.Holders, told) {
		return nil
	}
	share := min(1, c.Threads*c.ThreadBytes/c.Size)
	of, site := threadsHeld(), ""
	if i := slices.IndexFunc(c.Holders, func(h record.Holder) bool { return HeldKind(&h) == Threads }); i >= 0 {
		site, _, _ = strings.Cut(c.Holders[i].Filled, "; ")
	}
	return &Cause{ID: Threads, Confidence: .8 * c.Confidence, Share: &share,
		Evidence: evidence("%s threads were started and did not end, and host memory grows by %s for each",
			units.Whole(c.Threads), units.Bytes(c.ThreadBytes)),
		Next: of.next, Site: site, Change: []string{"- " + of.change[0], "+ " + of.change[1]}}
}
