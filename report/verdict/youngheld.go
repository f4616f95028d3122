package verdict

import (
	"cmp"
	"slices"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// leastSurvived is how many generations of blocks must have left survivors, for a holder that
// one look found to be no moment's work.
const leastSurvived = 2

// heldSoFar reports whether more than the trend tells that memory grows, however young the
// device: a container without a bound explains the growth, with more than a few elements, and
// it got longer from look to look, or still did right after one, or each generation of blocks
// left survivors; or memory rises in a straight line; or for some seconds a graph or a
// buffer got longer.
func heldSoFar(s *settled) bool {
	h, all := explains(s)
	if h == nil || h.Bound > 0 || h.Gone || !hasName(h.Path) {
		return false
	}
	if h.Graph != "" || cause.GrowsAlone(h.Path) { // told where a look found it longer than the look before
		return growth.SpanOf(&s.Examined, &s.Grow[s.primary]) >= heldFor
	}
	if h.Count < someThings || looks.IsRefilled(h) {
		return false
	}
	i := slices.IndexFunc(all, func(c looks.Course) bool { return c.Path == h.Path })
	if i < 0 {
		return false
	}
	c := &all[i]
	last := &c.Looks[len(c.Looks)-1]
	longer := len(c.Looks) > 1 && c.Lengthens() || last.WentOn
	once := len(c.Looks) == 1 && !last.Again && goesStraight(s)
	return (longer || once) && last.Holder.Length >= someThings || s.primary == series.Live && survive(s)
}

// heldFor are the seconds that a growth lasts of which one look found the holder, or a graph or a buffer
// longer.
const heldFor = 3.

// goesStraight reports whether live memory grows so long, and so straight, that one look at its holder
// is enough where no other says that it stands still.
func goesStraight(s *settled) bool {
	return s.primary == series.Live && s.confidence >= wellLikely &&
		growth.SpanOf(&s.Examined, &s.Grow[s.primary]) >= heldFor
}

// explains is the holder that explains a growth of what is live, or of the host beside a device,
// and what the looks found of such; nil where none does. What graphs behind outputs keep may be
// any part of it.
func explains(s *settled) (*HolderRow, []looks.Course) {
	switch {
	case s.primary == series.Live:
		last := s.Holders()
		return cmp.Or(s.blamed(last), mostOutputs(last)), looks.Courses(&s.Examined.Process)
	case s.primary == series.Host || s.primary == series.Heap:
		return hostHolder(s, s.Holders()), looks.HostCourses(&s.Examined.Process)
	}
	return nil, nil
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

// holdsOwn reports whether containers with what the program itself holds on the device got longer
// from look to look.
func holdsOwn(s *settled) bool {
	return s.objects != nil && s.objects.Owner == finding.TheProgram && s.objects.Holder != ""
}

// holdsMore lets containers that got longer decide where a trend alone is not to be believed,
// and reports whether there are such.
func (s *settled) holdsMore() bool {
	if !holdsOwn(s) {
		return false
	}
	s.take(*s.objects)
	s.shares, s.lacking = nil, false
	s.Grow[s.objects.Of].Shape = trend.Growing
	s.confidence = confidenceOf(&s.Examined, s.decision)
	return true
}
