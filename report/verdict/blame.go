package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
)

// leastOfLargest is how much of a growth that several holders explain together the largest
// must explain to be named for all.
const leastOfLargest = .2

// estimated is the part of what a holder grew by that it must have at the last look, else
// its bytes there are not told as what it keeps.
const estimated = .6

// blamed is the holder that explains the growth of live memory: the one that the looks
// found longer each time; without such looks the one that grew most, and by at least half
// of it, or that grew most of some that alike grew by half of it together. nil where none
// does.
func (s *settled) blamed(last []HolderRow) *HolderRow {
	if s.class != AppLeak || s.primary.Counts() {
		return nil
	}
	if i := slices.IndexFunc(last, func(h HolderRow) bool { return h.Path == s.held }); s.held != "" && i >= 0 {
		if h := foundAtTheEnd(last, &last[i], s.size); h != nil {
			return h
		}
		return &last[i]
	}
	grew := grewBy(s, last)
	best := grewMost(last, grew, s.size)
	if best < 0 {
		return nil
	}
	together := grew[best]
	for _, i := range alike(last, grew, best) {
		together += grew[i]
	}
	alone := grew[best] >= s.size/2
	if !alone && (together < s.size/2 || grew[best] < leastOfLargest*s.size || !hasName(last[best].Path)) {
		return nil
	}
	return &last[best]
}

// foundAtTheEnd is the holder with a name that has at the end half of a growth of so many bytes, where
// the looks knew no more than the class of objects that have them, and no name that leads to these: a
// library's cache has them, say. nil of another.
func foundAtTheEnd(last []HolderRow, h *HolderRow, size float64) *HolderRow {
	if !h.OfClass() || !h.Gone || strings.Contains(h.Path, " below ") {
		return nil
	}
	for i := range last {
		o := &last[i]
		found := !o.Gone && !o.Host && o.Graph == "" && !o.OfClass() && hasName(o.Path)
		if found && o.Bytes >= h.Bytes && float64(o.Bytes) >= size/2 {
			return o
		}
	}
	return nil
}

// grewMost is the holder that grew most, or one with a name that grew by half of a growth
// of so many bytes: what is left without a name at the end was often held by one before.
// Less than 0 of none.
func grewMost(last []HolderRow, grew []float64, size float64) int {
	best, named := -1, -1
	for i := range grew {
		if grew[i] > 0 && (best < 0 || grew[i] > grew[best]) {
			best = i
		}
		if grew[i] >= size/2 && hasName(last[i].Path) && (named < 0 || grew[i] > grew[named]) {
			named = i
		}
	}
	if named >= 0 {
		return named
	}
	return best
}

// roundedUp is the most that a pool takes for an array of a few bytes (PyTorch: 512), and
// as much again.
const roundedUp = 1 << 10

// inNumber is the holder that explains a growth of the number of live handles, or of bytes
// that are no more than what a pool takes for these; nil where none does. Where a look found
// it the number is what came until then, else what came in all.
func inNumber(s *settled, last []HolderRow) *HolderRow {
	clock, more := s.Judged.Clock, s.Grow[series.Count].Gained()
	crumbs := s.primary == series.Live && s.Grow[series.Count].Growing() && s.size <= roundedUp*more
	if s.class != AppLeak || s.primary != series.Count && !crumbs || len(clock) == 0 || s.Judged.Untimed {
		return nil
	}
	lasted := clock[len(clock)-1] - clock[min(s.Grow[series.Count].From, len(clock)-1)]
	best, most := -1, looks.LeastExplained*more
	for i := range last {
		h := &last[i]
		came := float64(h.Count)
		if h.OverMs > 0 {
			came *= 1000 * lasted / h.OverMs
		}
		if h.Graph == "" && !h.Host && came >= most && came <= looks.MostExplained*more && hasName(h.Path) {
			best, most = i, came
		}
	}
	if best < 0 {
		return nil
	}
	return &last[best]
}

// grewBy is by how many bytes each holder grew: between the first look and the last, or as
// far as one look tells; or, of one that the looks at the running program found to the
// last, at the rate of that look for as long as the growth was watched. What a look found
// came since an earlier one, not since the beginning. What a function held is gone with it
// when the program has ended: of that the looks alone tell.
func grewBy(s *settled, last []HolderRow) []float64 {
	before := map[string]int64{}
	for _, h := range firstHolders(&s.Examined.Process) {
		before[h.Path] += h.Bytes
	}
	gains := s.gains()
	grew := make([]float64, len(last))
	for i := range last {
		h := &last[i]
		if h.Host {
			continue
		}
		if h.Gone {
			grew[i] = min(gains[h.Path+h.Graph], s.size)
			continue
		}
		grew[i] = float64(h.Bytes - before[h.Path])
		if h.Graph == "" {
			grew[i] = max(grew[i], min(gains[h.Path], s.size))
		}
	}
	stepBack(last, grew, s.size)
	return grew
}

// alike are the holders with a name, beside the one that grew most, that grew by not much
// less than it.
func alike(last []HolderRow, grew []float64, best int) []int {
	var found []int
	for i := range last {
		if i != best && hasName(last[i].Path) && last[i].Path != last[best].Path &&
			grew[i] >= looks.LeastBeside*grew[best] {
			found = append(found, i)
		}
	}
	return found
}

// heldClaim says what the holder keeps, and how fast that grows. One that is no half of
// the growth is told with those that grew alike; of one that grew by far more than the last
// look found of it, the growth is an estimate.
func (s *settled) heldClaim(h *HolderRow, last []HolderRow, d *DrivenBy) string {
	grew := grewBy(s, last)
	best := slices.IndexFunc(last, func(o HolderRow) bool { return o == *h })
	bytes, count, about := h.Bytes, h.Count, estimated*grew[best] > float64(h.Bytes)
	text, keeps := h.Kept()+filledAt(h, ","), " keeps "
	if h.OfClass() && !strings.Contains(h.Path, ": ") { // its objects do
		keeps = " keep "
	}
	if others := alike(last, grew, best); grew[best] < s.size/2 && h.Path != s.held && len(others) > 0 {
		for _, i := range others {
			bytes, count = bytes+last[i].Bytes, count+last[i].Count
		}
		about = false
		text, keeps = text+" and "+units.Counted(int64(len(others)), "other", "others"), " keep "
	}
	switch {
	case about:
		text += keeps + "about " + units.Bytes(grew[best])
	case h.IsNameless():
		like, keeper, _ := strings.Cut(h.Path, ": ")
		text = fmt.Sprintf("%s keeps %s in %d %s like %s", keeper, units.Bytes(bytes), count,
			thingsOf(s.Run.Meta.Versions), like)
	case count > 1:
		text += fmt.Sprintf("%s%s in %d %s", keeps, units.Bytes(bytes), count, thingsOf(s.Run.Meta.Versions))
	default:
		text += keeps + units.Bytes(bytes)
	}
	switch {
	case d == nil:
		text += ", " + units.Bytes(s.size) + " more" + s.lasting()
	case d.Per == "second":
		text += ", " + units.Bytes(d.Value) + " more every second"
	default:
		text += ", " + units.Bytes(d.Value) + " more with every " + strings.ReplaceAll(d.Per, "_", " ")
	}
	if s.objects != nil && s.objects.Beside != "" && h.Path == s.held {
		text += " together with " + s.objects.Beside + ", which has a bound"
	}
	if s.primary == series.Live {
		text += s.outgrownWords() + hostBeside(s)
	}
	return text
}

// stepBack takes out of what holders grew by those that are refilled, where one that keeps
// what it has explains half of a growth of so many bytes.
func stepBack(last []HolderRow, grew []float64, size float64) {
	explained := false
	for i := range last {
		h := &last[i]
		explained = explained || h.Before > 0 && !looks.IsRefilled(h) && grew[i] >= size/2
	}
	for i := range last {
		if explained && looks.IsRefilled(&last[i]) {
			grew[i] = 0
		}
	}
}

// blameable are the holders without those that stepBack takes out, and without classes of whose objects
// the end knows the holder.
func blameable(list []HolderRow, gains map[string]float64, size float64) []HolderRow {
	grew := make([]float64, len(list))
	for i := range list {
		grew[i] = max(float64(list[i].Bytes), gains[list[i].Path+list[i].Graph])
	}
	stepBack(list, grew, size)
	var out []HolderRow
	for i := range list {
		if foundAtTheEnd(list, &list[i], size) == nil && (grew[i] > 0 || !looks.IsRefilled(&list[i])) {
			out = append(out, list[i])
		}
	}
	return out
}

// largestKnown is, of a growth of live memory that no holder explains, the holder with a
// name that grew most, if that is a part worth looking at; nil of another growth. The rest
// may be what it keeps as well: a look reads so many objects, and no more.
func largestKnown(s *settled, last []HolderRow) *HolderRow {
	if s.class != AppLeak || s.primary.Counts() || s.restsOn == ByLeftover || s.blamed(last) != nil {
		return nil
	}
	grew, best := grewBy(s, last), -1
	for i := range last {
		if hasName(last[i].Path) && grew[i] >= leastOfLargest*s.size && (best < 0 || grew[i] > grew[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &last[best]
}

// largestWords names it, as a part of a sentence.
func largestWords(h *HolderRow) string {
	if h == nil {
		return ""
	}
	text := "; the largest holder that was found is " + h.Kept() + filledAt(h, "")
	if h.Gone {
		return text + ", which kept " + units.Bytes(h.Bytes) + " when it was last looked at"
	}
	return text + ", which keeps " + units.Bytes(h.Bytes)
}
