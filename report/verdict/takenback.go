package verdict

import (
	"fmt"

	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
)

// mayBeDead says why a growth of host memory stays open that is the heap's, where no
// collection of old objects tells whether they are in use. Empty of another.
func mayBeDead(s *settled) string {
	g := &s.Grow[series.Host]
	if s.restsOn != ByTrend || s.class != HostGrowth || s.primary != series.Host || !g.Growing() ||
		s.KeptMore != "" {
		return ""
	}
	return growth.DeadWords(&s.Examined)
}

// fillsAndMore says why a growth of host memory stays open that fills what the program had
// reserved: where that is all but full, as an allocator that reserves for minutes fills one
// piece after the other; or where a little more is reserved meanwhile. Empty of another.
func fillsAndMore(s *settled) string {
	g := &s.Grow[series.Host]
	if s.restsOn != ByTrend || s.class != HostGrowth || s.primary != series.Host || !g.Growing() {
		return ""
	}
	return evidence.FillsMore(&s.Examined)
}

// fillsUp says why a growth that the trend alone tells may be a container with a bound
// that fills up: one that came as fast, at the last look. Empty of another.
func fillsUp(s *settled) string {
	if s.restsOn != ByTrend || s.class != HostGrowth && s.class != AppLeak || s.primary.Counts() ||
		s.Judged.Untimed {
		return ""
	}
	return evidence.MayFillUp(&s.Examined, s.primary, s.class == HostGrowth, s.size)
}

// roseWords say by how much host memory rose between the looks that found its holder longer
// each time, where those decided and not the trend.
func roseWords(s *settled) string {
	for _, c := range looks.Courses(&s.Examined.Process) {
		if c.Path == s.held {
			return fmt.Sprintf("%s grows by %s between the first and the last of %d looks, and the holder got "+
				"longer each time", s.what(), s.quantity(s.size), len(c.Looks))
		}
	}
	return s.why
}

// isBelowSight reports whether the trend would not have seen what the looks found: a holder that
// got longer at each of them, by less than what comes and goes beside it.
func isBelowSight(s *settled, f *finding.Finding) bool {
	if f.Holder == "" || !s.Grow[f.Of].Known || s.Judged.Untimed || len(s.Judged.Clock) == 0 {
		return false
	}
	least := s.Judged.Detectable(&s.Grow[f.Of])
	return least != nil && f.Size < *least*s.Lived()
}

// hiddenWords are why such a verdict is open.
func hiddenWords(f *finding.Finding) string {
	return f.Holder + " got longer at each look, by less than the samples would have shown"
}
