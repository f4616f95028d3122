package verdict

import "github.com/gpumem/gpumem/internal/units"

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
