package verdict

import "github.com/gpumem/gpumem/tracer/record"

// refilledPart is the part of the arrays that an earlier look found below a path, of which
// less is left where the path is emptied and filled again.
const refilledPart = .25

// isRefilled reports whether a path hardly has any of the arrays that it had at the look
// before. It is a working set rather than a leak, or its arrays are each put in place of a
// shorter one: so it only steps back behind a path that keeps what it has.
func isRefilled(h *record.Holder) bool {
	return h.Before > 0 && float64(h.Stayed) < refilledPart*float64(h.Before)
}

// staying are the courses without those that are refilled, where one that keeps what it
// has comes at least half as fast.
func staying(list []course) []course {
	fastest := 0.
	for i := range list {
		h := &list[i].looks[len(list[i].looks)-1].holder
		if h.Before > 0 && !isRefilled(h) && h.Bound == 0 && list[i].rises() {
			fastest = max(fastest, list[i].looks[len(list[i].looks)-1].rate())
		}
	}
	var out []course
	for i := range list {
		l := list[i].looks[len(list[i].looks)-1]
		if !isRefilled(&l.holder) || fastest < leastBeside*l.rate() {
			out = append(out, list[i])
		}
	}
	return out
}

// stepBack takes out of what holders grew by those that are refilled, where one that keeps
// what it has explains half of a growth of so many bytes.
func stepBack(last []HolderRow, grew []float64, size float64) {
	explained := false
	for i := range last {
		h := &last[i]
		explained = explained || h.Before > 0 && !isRefilled(h) && grew[i] >= size/2
	}
	for i := range last {
		if explained && isRefilled(&last[i]) {
			grew[i] = 0
		}
	}
}

// blameable are the holders without those that stepBack takes out.
func blameable(list []HolderRow, gains map[string]float64, size float64) []HolderRow {
	grew := make([]float64, len(list))
	for i := range list {
		grew[i] = max(float64(list[i].Bytes), gains[list[i].Path+list[i].Graph])
	}
	stepBack(list, grew, size)
	var out []HolderRow
	for i := range list {
		if grew[i] > 0 || !isRefilled(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}
