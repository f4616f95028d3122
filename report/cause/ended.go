package cause

import (
	"math"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// aloneAtTheEnd is by what part of them, or by how many, objects may be fewer or more than the elements of
// the container that had them; and filledUp the part of a growth below which such a container had stood still.
const (
	aloneAtTheEnd, fewAlone = .1, 2
	filledUp                = .1
)

// named is the holder that Container finds, for objects of a class, else the holder itself. It grew
// unless that container had stood still: its elements were there all the time.
func named(c *Case, h *record.Holder) (of *record.Holder, grew bool) {
	if g := Container(c.Holders, h); g != nil {
		return g, c.Gains[g.Path+g.Graph] >= filledUp*c.Size
	}
	return h, true
}

// Container is, for objects of a class to which no name leads at the end any more, the holder with about as many
// elements to which one led before the program's functions had ended; nil of other holders, and where there is none.
func Container(all []record.Holder, h *record.Holder) *record.Holder {
	if !strings.HasSuffix(h.Path, " objects") || h.Gone || h.OverMs != 0 || h.Kind != "" {
		return nil
	}
	for i := range all {
		g := &all[i]
		beside := math.Abs(float64(g.Length - h.Count))
		if g.Gone && g.Length >= severalKept && beside <= max(fewAlone, aloneAtTheEnd*float64(h.Count)) {
			return g
		}
	}
	return nil
}
