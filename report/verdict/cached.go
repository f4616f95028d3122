package verdict

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// cachedRecords are the handles that are cached on purpose and rise with host memory that
// is the driver's, at a cost for each that the driver may have: it keeps what it knows of
// them there. more is how many; 0 where none do.
func cachedRecords(s *settled) (kind account.HandleKind, more float64) {
	if s.class != DriverGrowth || s.primary != series.Host && s.primary != series.Heap {
		return kind, 0
	}
	from := s.Grow[s.primary].From
	for _, k := range account.HandleKinds() {
		if !k.Cached {
			continue
		}
		n := s.Judged.Rise(k.Column, from)
		if !(n > more) || !trend.Climbs(s.Judged.Cols[k.Column][from:], account.MoreHandles) {
			continue
		}
		if each := s.size / n; each >= account.LeastPerHandle && each <= growth.RecordCost(k.Column) {
			kind, more = k, n
		}
	}
	return kind, more
}

// cacheMayFill is why a growth of the driver's host memory may be a cache of what a library
// makes for each new size of its input, and does not go on for ever; empty where it is none.
func cacheMayFill(s *settled) string {
	kind, more := cachedRecords(s)
	if more == 0 || more >= growth.MostCached {
		return ""
	}
	return fmt.Sprintf("the driver's host memory grows with the number of %s, of which %s more are alive: "+
		"a cache that still fills looks like one that is never emptied", kind.Name, units.Whole(more))
}
