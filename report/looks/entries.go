package looks

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
func together(list []Course, whole string) []Look {
	var out []Look
	for i := range list {
		if !isEntry(list[i].Path, whole) {
			continue
		}
		for _, l := range list[i].Looks {
			at := slices.IndexFunc(out, func(o Look) bool { return o.At == l.At })
			if at < 0 {
				out = append(out, Look{At: l.At, Over: l.Over, Holder: record.Holder{}})
				at = len(out) - 1
			}
			out[at].Over = max(out[at].Over, l.Over)
			sum := &out[at].Holder
			sum.Bytes, sum.Count = sum.Bytes+l.Holder.Bytes, sum.Count+l.Holder.Count
			sum.OverMs = max(sum.OverMs, l.Holder.OverMs)
		}
	}
	slices.SortFunc(out, func(a, b Look) int { return cmp.Compare(a.At, b.At) })
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
