package verdict

import (
	"slices"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// leastSurvived is how many generations of blocks must have left survivors, for a holder that
// one look found to be no moment's work.
const leastSurvived = 2

// heldSoFar reports whether more than the trend tells that what is live grows, however young
// the device: a container without a bound explains the growth, with more than a few elements,
// and it got longer from look to look, or each generation of blocks left survivors.
func heldSoFar(s *settled) bool {
	h := s.blamed(s.Holders())
	if h == nil || s.primary != series.Live || h.Bound > 0 || h.Gone || !hasName(h.Path) ||
		h.Count < someThings || looks.IsRefilled(h) {
		return false
	}
	if h.Graph != "" { // a look tells of a graph that it found longer than the look before
		return true
	}
	all := looks.Courses(&s.Examined.Process)
	i := slices.IndexFunc(all, func(c looks.Course) bool { return c.Path == h.Path })
	if i < 0 {
		return false
	}
	c := &all[i]
	last := c.Looks[len(c.Looks)-1].Holder
	return len(c.Looks) > 1 && c.Lengthens() && last.Length >= someThings || survive(s)
}

// heldOnHost reports whether host memory grows with a container that each look found longer, as
// of a program that has a device beside it and takes nothing of that.
func heldOnHost(s *settled) bool {
	return s.primary == series.Host && s.objects != nil && s.objects.Owner == finding.TheHost && s.objects.Holder != ""
}

// survive reports whether each generation of blocks that a look found again left survivors.
func survive(s *settled) bool {
	all := looks.Generations(&s.Examined.Process)
	none := func(g looks.Generation) bool { return g.Last == 0 }
	return len(all) >= leastSurvived && !slices.ContainsFunc(all, none)
}

// holdsMore lets containers that got longer decide where a trend alone is not to be believed,
// and reports whether there are such.
func (s *settled) holdsMore() bool {
	if s.objects == nil || s.objects.Owner != finding.TheProgram || s.objects.Holder == "" {
		return false
	}
	s.take(*s.objects)
	s.shares, s.lacking = nil, false
	s.Grow[s.objects.Of].Shape = trend.Growing
	s.confidence = confidenceOf(&s.Examined, s.decision)
	return true
}
