package cause

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// threadsLeft: host memory grows with the number of threads, which is more than a pool of
// them has, or with nothing else that can be seen. Where holders tell the same, they are
// asked.
func threadsLeft(c *Case) *Cause {
	told := func(h record.Holder) bool { return HeldKind(&h) == Threads }
	weighed := func(h record.Holder) bool { return told(h) && h.Bytes > 0 }
	if c.Class != account.HostGrowth || slices.ContainsFunc(c.Holders, weighed) {
		return nil
	}
	of, site := threadsHeld(), ""
	if i := slices.IndexFunc(c.Holders, told); i >= 0 {
		site, _, _ = strings.Cut(c.Holders[i].Filled, "; ")
	}
	cause := &Cause{ID: Threads, Next: of.next, Site: site,
		Change: []string{"- " + of.change[0], "+ " + of.change[1]}}
	if c.Threads > 0 {
		share := min(1, c.Threads*c.ThreadBytes/c.Size)
		cause.Share, cause.Confidence = &share, .8*c.Confidence
		cause.Evidence = evidence("%s threads were started and did not end, and host memory grows by "+
			"%s for each", units.Whole(c.Threads), units.Bytes(c.ThreadBytes))
		return cause
	}
	h := c.unseen(liveThreads, manyThreads)
	if h == nil {
		return nil
	}
	cause.Confidence = .6 * c.Confidence
	more := evidence("%d threads more run, at each look more than before", h.Count)
	cause.Evidence = append(more, noneSeen())
	return cause
}

// areOfThreads reports whether a holder is the objects of a class to which no name leads, beside variables
// of threads that do not end: these are not what names show.
func areOfThreads(c *Case, h *record.Holder) bool {
	return strings.HasSuffix(h.Path, " objects") && slices.ContainsFunc(c.Holders, func(o record.Holder) bool {
		return o.Kind == Threads && strings.Contains(o.Path, "() local ")
	})
}
