package series

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// placed are events in which objects of a class that a look found below no name have the one below which the look
// before had found such, made at the same lines: a look goes but so far down a chain. The events given are not
// changed.
func placed(all []record.Event) []record.Event {
	type objects struct {
		pid          int
		path, filled string
	}
	at, out, own := map[objects]string{}, all, false
	for i := range all {
		e := &all[i]
		if e.Kind != record.KindHolders {
			continue
		}
		var list []record.Holder
		for n := range e.Holders {
			h := &e.Holders[n]
			class, _, below := strings.Cut(h.Path, " below ")
			of := objects{e.PID, class, h.Filled}
			switch path, known := at[of]; {
			case !h.OfClass() || strings.Contains(h.Path, ":"):
			case below:
				at[of] = h.Path
			case known:
				if list == nil {
					list = slices.Clone(e.Holders)
				}
				list[n].Path = path
			}
		}
		if list == nil {
			continue
		}
		if !own {
			out, own = slices.Clone(all), true
		}
		out[i].Holders = list
	}
	return out
}
