package verdict

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// wholeOf is how the paths of a dictionary's entries begin, up to their keys, where a path
// names the dictionary itself: "dict main() local sessions[…].history". Empty of others.
func wholeOf(path string) string {
	kind, name, found := strings.Cut(path, " ")
	if !found || strings.ContainsAny(kind, ".()") {
		return ""
	}
	name, _, _ = strings.Cut(name, "[…]")
	return name
}

// together are the looks at the entries of a dictionary, each told by its key, as looks at
// the dictionary, the earliest first: as long as it has few entries the agent tells each
// alone, and later the dictionary in place of all.
func together(list []course, whole string) []look {
	var out []look
	for i := range list {
		if !isEntry(list[i].path, whole) {
			continue
		}
		for _, l := range list[i].looks {
			at := slices.IndexFunc(out, func(o look) bool { return o.at == l.at })
			if at < 0 {
				out = append(out, look{at: l.at, over: l.over, holder: record.Holder{}})
				at = len(out) - 1
			}
			out[at].over = max(out[at].over, l.over)
			sum := &out[at].holder
			sum.Bytes, sum.Count = sum.Bytes+l.holder.Bytes, sum.Count+l.holder.Count
			sum.OverMs = max(sum.OverMs, l.holder.OverMs)
		}
	}
	slices.SortFunc(out, func(a, b look) int { return cmp.Compare(a.at, b.at) })
	return out
}

// isEntry reports whether a path goes by a key through the dictionary of that name.
func isEntry(path, whole string) bool {
	for _, mark := range [...]string{"['", `["`} {
		if strings.HasPrefix(path, whole+mark) || strings.Contains(path, " "+whole+mark) {
			return true
		}
	}
	return false
}
