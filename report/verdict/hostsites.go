package verdict

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// mostOfLine is the part of what a line asked for that is data of arrays where it is told to be.
const mostOfLine = .5

// Where native code keeps most of a growth, the objects of Python's that stay beside it lead to
// the line that has it do so, when nearly all of them are that line's.
const (
	mostOfStaying = 2. / 3 // of the sampled bytes that stay
	leastStaying  = 6      // samples
)

// hostLine is a line of the program's that asked Python's allocators for what stayed, "train.py:88
// in keep".
type hostLine struct {
	at     string
	called string // the line that called its function, ", called at train.py:96 in step"; empty where unknown
	what   string // what it is: Python objects, or the data of arrays or tensors
	beside bool   // it is far less than what the host grew by
}

// hostAsked is the line that asked for a quarter of what the host grew by or more, else that of
// nearly all that stays of Python's; the zero value where there is none.
func hostAsked(s *settled) hostLine {
	if s.class != HostGrowth || s.primary != series.Host {
		return hostLine{}
	}
	rows := windowRows(s, record.KindHostSites)
	all, samples := int64(0), int64(0)
	for i := range rows {
		all, samples = all+rows[i].Bytes, samples+rows[i].Count
	}
	went := goingOn(s, rows)
	if at := place.Line(went, s.size, false); at != "" || len(went) < len(rows) || samples < leastStaying {
		return hostLine{at: at, called: callerOf(rows, at), what: staying(rows, at)}
	}
	bytes := func(row record.Site) int64 { return row.Bytes }
	at := place.Heaviest(rows, bytes, mostOfStaying*float64(all), false)
	return hostLine{at: at, called: callerOf(rows, at), what: staying(rows, at), beside: true}
}

// staying is what the line asked for most of all.
func staying(rows []record.Site, at string) string {
	var all, arrays, tensors int64
	for _, row := range rows {
		if place.Text(record.PlaceOf(row.Site)) == at {
			all, arrays, tensors = all+row.Bytes, arrays+row.ArrayBytes, tensors+row.TensorBytes
		}
	}
	switch least := mostOfLine * float64(all); {
	case float64(arrays) >= least:
		return "NumPy arrays"
	case float64(tensors) >= least:
		return "tensors on the host"
	}
	return "Python objects"
}

// isNewsBeside reports whether the line says more than where the holder is filled. What a line
// hands to its holder another one may have asked for, and where objects of a class were made is
// not where what they have was asked for.
func (h hostLine) isNewsBeside(holder *HolderRow) bool {
	isThere := func(site string) bool { return place.Text(record.PlaceOf(site)) == h.at }
	filled := strings.Split(holder.Filled, "; ")
	isOther := !h.beside || holder.OfClass()
	return holder.Filled == "" || isOther && !slices.ContainsFunc(filled, isThere)
}

// words are the line as a part of a sentence, empty without one.
func (h hostLine) words() string {
	switch {
	case h.at == "":
		return ""
	case h.beside:
		return "; most of the " + h.what + " that stay are allocated at " + h.at + h.called
	}
	return "; the " + h.what + " that stay are allocated at " + h.at + h.called
}

// next is what to do at the line, empty without one.
func (h hostLine) next() string {
	switch {
	case h.at == "":
		return ""
	case h.beside:
		return "look at " + h.at + h.called + ": " + h.what + " that stay are allocated there, and native code that is called " +
			"there may keep the rest"
	}
	return "find what keeps the " + h.what + " that are allocated at " + h.at + h.called
}
