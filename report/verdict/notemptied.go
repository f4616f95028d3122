package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// notEmptied says why a growth of a program of Python's stays open that a container holds which a line of the
// program empties, or rids of what is old: the looks saw nothing of it go, so that the line has taken nothing out
// yet, and may do so by the minute or never; or they saw some go, as of a window in time, which gets longer until
// it is as old as the line allows. Empty of another.
func notEmptied(s *settled) string {
	if s.Run.Meta.Versions["python"] == "" || s.primary.Counts() || s.primary == series.Keys {
		return ""
	}
	h := s.blamed(s.Holders())
	if s.class == HostGrowth {
		h = hostHolder(s, s.Holders())
	}
	if h == nil {
		return ""
	}
	t := takingOf(s, h.Path)
	switch {
	case t.site == "" || t.isOutlived() || t.after == 0 && !isYoungPython(s):
		return ""
	case t.some:
		return fmt.Sprintf("%s grows, and may still be filling up: %s took something out of it", h.Path,
			place.OfSite(t.site))
	}
	return fmt.Sprintf("%s grows, and nothing was seen to leave it yet: %s takes something out of it", h.Path,
		place.OfSite(t.site))
}

// All that a look finds is older than a line allows at the next one, where the age that the line compares with is
// at most surelyOlder of the time between the two. A container that began to fill by its first look is full after
// that age, or some seconds later where the line runs now and then: fullAfter of it, and lazily more at least. Looks
// are made at twice the age of the one before, so that what filled up meanwhile has lengthened by less than
// stillLonger of what it did before. Looks that are nearer than apart seconds are one. An age of maybeInMilli may be of milliseconds.
const (
	surelyOlder  = .8
	fullAfter    = 1.25
	lazily       = 3. // seconds
	stillLonger  = .6
	apart        = 2. // seconds
	maybeInMilli = 600
)

// taking is what the looks tell of a container and of a line that takes something out of it. Times are seconds.
type taking struct {
	site          string  // the line; empty where there is none
	after         float64 // the age that it compares with; 0 is unknown
	since, at     float64 // when the first look's elements began to come, and when the last look was
	from          float64 // when the look was that pace is measured from, where the container had a length of begun
	begun         int64
	lasted        float64 // how long the elements of the look before had been there at least
	length        int64
	some          bool    // a look saw some of what was there before go
	fastest, pace float64 // elements a second that it got longer by: at most, and since the look before
}

// takingOf is the taking of the container of a path.
func takingOf(s *settled, path string) *taking {
	t := &taking{since: math.Inf(1)}
	var last record.Holder
	look := 0.
	for _, e := range s.Events.About(s.PID) {
		if e.Kind != record.KindHolders {
			continue
		}
		for i := range e.Holders {
			h := &e.Holders[i]
			if h.Path != path || h.Gone {
				continue
			}
			at := e.TMs / 1000
			if h.Before != last.Before || h.Stayed != last.Stayed { // else the same look is told again
				look, t.lasted = at, at-look
			}
			t.add(at, h)
			last = *h
		}
	}
	if last.Before == 0 {
		t.lasted = 0
	}
	return t
}

// add takes in what a look found.
func (t *taking) add(at float64, h *record.Holder) {
	t.since = math.Min(t.since, at-h.OverMs/1000)
	t.some = t.some || h.Stayed < h.Before || h.Length < t.length
	if t.at == 0 {
		t.from, t.begun = at, h.Length
	}
	if at >= t.from+apart {
		t.pace = float64(h.Length-t.begun) / (at - t.from)
		t.fastest, t.from, t.begun = math.Max(t.fastest, t.pace), at, h.Length
	}
	t.site, t.at, t.length, t.after = h.Emptied, at, h.Length, h.EmptiedAfter
	if t.after >= maybeInMilli {
		t.after /= 1000
	}
}

// isOutlived reports whether the line's age has passed and the container grew on as if there were no such line.
func (t *taking) isOutlived() bool {
	if t.after == 0 || t.pace < stillLonger*t.fastest {
		return false
	}
	full := t.since + math.Max(fullAfter*t.after, t.after+lazily)
	return !t.some && t.after < surelyOlder*t.lasted || t.at >= full
}
