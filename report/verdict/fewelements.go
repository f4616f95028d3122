package verdict

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/looks"
)

// fewElements says why a growth that the trend tells, and not surely, may be a container
// that is given the last of what belongs there: the looks saw so few large elements come
// that a set of one for each of a few things fills in the same way. Empty of another.
func fewElements(s *settled) string {
	if s.restsOn != ByTrend || s.class != AppLeak || s.primary.Counts() || s.tier() == Confirmed {
		return ""
	}
	h := s.blamed(s.Holders())
	if h == nil {
		return ""
	}
	for _, c := range looks.Courses(&s.Examined.Process) {
		n := len(c.Looks) - 1
		if c.Path != h.Path || n < 1 {
			continue
		}
		first, last := c.Looks[0].Holder.Length, c.Looks[n].Holder.Length
		if last <= first || last >= someThings {
			return ""
		}
		return fmt.Sprintf("%s had only %s at the last look, and a set of a few large things that is still "+
			"filling grows as this does", c.Path, units.Counted(last, "element", "elements"))
	}
	return ""
}
