package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
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
	x := reserves{&s.Examined}
	g := &s.Grow[series.Host]
	if s.restsOn != ByTrend || s.class != HostGrowth || s.primary != series.Host || !g.Growing() ||
		x.heapIsRead() {
		return ""
	}
	why, left := x.fillsReserved()
	switch {
	case why == "":
		return ""
	case left < leftLeast*g.Amount():
		return why + "; a longer run tells whether it then reserves more"
	case x.mayLeakBeside():
		return why + "; a longer run tells whether what it reserved meanwhile goes on"
	}
	return ""
}

// fillsUp says why a growth that the trend alone tells may be a container with a bound
// that fills up: one that came as fast, at the last look. Empty of another.
func fillsUp(s *settled) string {
	if s.restsOn != ByTrend || s.class != HostGrowth && s.class != AppLeak || s.primary.Counts() ||
		s.Judged.Untimed {
		return ""
	}
	beside := s.class == HostGrowth && s.Judged.Series[series.Live] != nil
	var filling, other *looks.Course
	for _, e := range s.Events.About(s.PID) {
		if e.Kind != record.KindHolders || !looks.Timed(e.Holders) {
			continue
		}
		filling, other = nil, nil
		for _, h := range e.Holders {
			if h.OverMs <= 0 || h.Gone || h.Host != beside {
				continue
			}
			c := &looks.Course{Path: h.Path, Looks: []looks.Look{{At: e.TMs / 1000, Over: h.OverMs / 1000,
				Holder: h}}}
			if _, _, ok := c.Filling(); ok && hasRoom(&s.Examined.Process, c) {
				filling = looks.Larger(filling, c)
			} else {
				other = looks.Larger(other, c)
			}
		}
	}
	rate := s.size / math.Max(growth.SpanOf(&s.Examined, &s.Grow[s.primary]), 1)
	if filling == nil || filling.Looks[0].Rate() < leastOfHost*rate ||
		looks.Larger(filling, other) != filling {
		return ""
	}
	return foundFilling(s.primary, filling).Why
}
