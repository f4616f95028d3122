package looks

import (
	"github.com/gpumem/gpumem/tracer/record"
)

// refilledPart is the part of the arrays that an earlier look found below a path, of which
// less is left where the path is emptied and filled again.
const refilledPart = .25

// IsRefilled reports whether a path hardly has any of the arrays that it had at the look
// before. It is a working set rather than a leak, or its arrays are each put in place of a
// shorter one: so it only steps back behind a path that keeps what it has.
func IsRefilled(h *record.Holder) bool {
	return h.Before > 0 && float64(h.Stayed) < refilledPart*float64(h.Before)
}

// Staying are the courses without those that are refilled, where one that keeps what it
// has comes at least half as fast.
func Staying(list []Course) []Course {
	fastest := 0.
	for i := range list {
		h := &list[i].Looks[len(list[i].Looks)-1].Holder
		if h.Before > 0 && !IsRefilled(h) && h.Bound == 0 && list[i].Rises() {
			fastest = max(fastest, list[i].Looks[len(list[i].Looks)-1].Rate())
		}
	}
	var out []Course
	for i := range list {
		l := list[i].Looks[len(list[i].Looks)-1]
		if !IsRefilled(&l.Holder) || fastest < LeastBeside*l.Rate() {
			out = append(out, list[i])
		}
	}
	return out
}

// LeastBeside is how much of what the largest of several holders explains each of the others
// must, to be named with it.
const LeastBeside = .5
