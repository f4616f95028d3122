package verdict

import (
	"fmt"

	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// notEmptied says why a growth of a young program of Python's stays open that a container holds which a line
// of the program empties, or rids of what is old: the looks saw nothing of it go, so that the line has taken
// nothing out yet, and may do so by the minute or never. Empty of another.
func notEmptied(s *settled) string {
	if !isYoungPython(s) || s.primary.Counts() || s.primary == series.Keys {
		return ""
	}
	h := s.blamed(s.Holders())
	if s.class == HostGrowth {
		h = hostHolder(s, s.Holders())
	}
	if h == nil {
		return ""
	}
	site := emptiedAt(s, h.Path)
	if site == "" {
		return ""
	}
	return fmt.Sprintf("%s grows, and nothing was seen to leave it yet: %s takes something out of it", h.Path,
		place.OfSite(site))
}

// emptiedAt is the place of the line that empties the container of a path, as the last look told; empty where
// there is none, or a look saw some of what the container had had before go.
func emptiedAt(s *settled, path string) string {
	site, length := "", int64(0)
	for _, e := range s.Events.About(s.PID) {
		if e.Kind != record.KindHolders {
			continue
		}
		for i := range e.Holders {
			h := &e.Holders[i]
			if h.Path != path || h.Gone {
				continue
			}
			if h.Stayed < h.Before || h.Length < length {
				return ""
			}
			site, length = h.Emptied, h.Length
		}
	}
	return site
}
