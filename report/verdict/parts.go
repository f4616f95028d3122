package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// mostParts is how many holders are told to share a growth.
const mostParts = 4

// partsOf are the holders that share a growth, those with most of it first: two or more, each
// with a tenth of it, or one that has a fifth, where none explains it alone. What they grew
// by is an estimate; where all together grew by more than the account, each has less.
func partsOf(s *settled, last []HolderRow) []PartRow {
	var grew []float64
	switch {
	case s.primary == series.Keys || s.primary.Counts() || s.size <= 0 || s.restsOn == ByLeftover:
		return nil
	case s.class == AppLeak:
		grew = grewBy(s, last)
	case s.class == HostGrowth && len(s.Judged.Clock) > 0:
		grew = hostGrew(s, last)
	default:
		return nil
	}
	for i := range last {
		if !filledUp(s, &last[i]) {
			grew[i] = 0
		}
	}
	list, sum := largestParts(last, grew, shareToName*s.size)
	named := s.blamed(last)
	if named == nil {
		named = hostHolder(s, last)
	}
	switch {
	case sum > looks.MostExplained*s.size: // one of them did not grow so
		return nil
	case len(list) == 0, len(list) == 1 && (named != nil || s.class == AppLeak),
		len(list) == 1 && list[0].Share < leastOfLargest*s.size:
		return nil
	case named != nil && !strings.HasPrefix(root(named.Path), root(list[0].Holder)):
		return nil // what the looks found says more than what was there at the end
	}
	scale := min(1, s.size/sum)
	for i := range list {
		p := &list[i]
		bytes := p.Share * scale
		p.Share, p.Bytes, p.Without = bytes/s.size, int64(bytes), int64(s.size-bytes)
	}
	return list
}

// filledUp reports whether a holder is a container that each look since the first that
// found it found longer. Beside a device the end alone does not tell what was there before.
func filledUp(s *settled, h *HolderRow) bool {
	if h.Length <= 0 || h.Filled == "" || strings.Contains(h.Path, series.OfTraceback) {
		return false
	}
	long, looks := int64(0), 0
	for _, e := range s.Events.About(s.PID) {
		again := slices.ContainsFunc(e.Holders, func(o HolderRow) bool { return o.Gone })
		if e.Kind != record.KindHolders || again { // the end tells again what a look found
			continue
		}
		at := slices.IndexFunc(e.Holders, func(o HolderRow) bool { return o.Path == h.Path })
		switch {
		case at < 0 && looks > 0, at >= 0 && e.Holders[at].Length < long:
			return false
		case at >= 0:
			looks, long = looks+1, e.Holders[at].Length
		}
	}
	return looks > 1 || looks == 1 && !s.UsesDevice()
}

// root is a path without the words before the name, such as "list in list ".
func root(path string) string {
	_, name, found := strings.Cut(path, " in ")
	if found && !strings.Contains(path[:len(path)-len(name)], ".") {
		path = name
	}
	if kind, name, found := strings.Cut(path, " "); found && !strings.ContainsAny(kind, ".(") {
		return name
	}
	return path
}

// largestParts are the paths with names that grew by so many bytes at least, each once,
// without those that lie below one of them; the bytes stand in Share. The sum is of all.
func largestParts(last []HolderRow, grew []float64, least float64) (list []PartRow, sum float64) {
	for i := range last {
		h := &last[i]
		if grew[i] < least || !hasName(h.Path) || h.Bound > 0 {
			continue
		}
		at := slices.IndexFunc(list, func(p PartRow) bool {
			one, other := root(h.Path), root(p.Holder)
			return strings.HasPrefix(one, other) || strings.HasPrefix(other, one)
		})
		switch {
		case at < 0:
			list = append(list, PartRow{Holder: h.Path, Share: grew[i]})
		case len(root(h.Path)) < len(root(list[at].Holder)):
			list[at] = PartRow{Holder: h.Path, Share: max(grew[i], list[at].Share)}
		default:
			list[at].Share = max(grew[i], list[at].Share)
		}
	}
	slices.SortStableFunc(list, func(a, b PartRow) int { return cmp.Compare(b.Share, a.Share) })
	list = list[:min(len(list), mostParts)]
	for _, p := range list {
		sum += p.Share
	}
	return list, sum
}

// partsWords say who shares a growth, and what it would have been without the first.
func partsWords(list []PartRow) string {
	if len(list) == 0 {
		return ""
	}
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = fmt.Sprintf("%s has about %.0f %%", p.Holder, 100*p.Share)
	}
	if len(words) == 1 {
		return "; of what grew, " + words[0]
	}
	n := len(words) - 1
	return "; of what grew, " + strings.Join(words[:n], ", ") + " and " + words[n] +
		"; without the first it would have grown by " + units.Bytes(float64(list[0].Without))
}

// nextParts is where to go on when the first part is mended.
func nextParts(text string, list []PartRow, last []HolderRow) string {
	if text == "" || len(list) < 2 {
		return text
	}
	at := slices.IndexFunc(last, func(h HolderRow) bool { return h.Path == list[1].Holder })
	if at < 0 || strings.Contains(text, list[1].Holder) {
		return text
	}
	return text + "; then see to " + list[1].Holder + filledAt(&last[at], "")
}
