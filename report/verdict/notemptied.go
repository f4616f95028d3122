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

// All that a look finds is older than a line allows at the next one, where the age that the line compares with is
// at most this part of the time between the two. An age of so many may be of milliseconds.
const (
	surelyOlder  = .8
	maybeInMilli = 600
)

// emptiedAt is the place of the line that empties the container of a path, as the last look told; empty where
// there is none, or a look saw some of what the container had had before go, or nothing go of what was older
// than the line lets it become.
func emptiedAt(s *settled, path string) string {
	site, length, look, lasted := "", int64(0), 0., 0.
	var last record.Holder
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
			if h.Before != last.Before || h.Stayed != last.Stayed { // else the same look is told again
				look, lasted = e.TMs, (e.TMs-look)/1000
			}
			site, length, last = h.Emptied, h.Length, *h
		}
	}
	after := last.EmptiedAfter
	if after >= maybeInMilli {
		after /= 1000
	}
	if after > 0 && last.Before > 0 && after < surelyOlder*lasted {
		return ""
	}
	return site
}
