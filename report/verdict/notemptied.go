package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/looks"
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
		return fmt.Sprintf("%s grows, and may still be filling up: %s has begun to take elements out of it", h.Path,
			place.OfSite(t.site))
	}
	return fmt.Sprintf("%s grows, and nothing was seen to leave it yet: %s takes something out of it", h.Path,
		place.OfSite(t.site))
}

// All that a look finds is older than a line allows at the next one, where the age that the line compares with is
// at most surelyOlder of the time between the two. A container that began to fill by its first look is full after
// that age, or some seconds later where the line runs now and then: fullAfter of it, and lazily more at least. Looks
// are made at twice the age of the one before, so that what filled up meanwhile has lengthened by less than
// stillLonger of what it did before. An age of maybeInMilli may be of milliseconds.
const (
	surelyOlder  = .8
	fullAfter    = 1.25
	lazily       = 3. // seconds
	stillLonger  = .6
	maybeInMilli = 600
)

// taking is what the looks tell of a container and of a line that takes something out of it. Times are seconds.
type taking struct {
	site      string  // the line; empty where there is none
	after     float64 // the age that it compares with; 0 is unknown
	since, at float64 // when the first look's elements began to come, and when the last look was
	lasted    float64 // how long what was asked for again by the last look had been there at least
	some      bool    // a look saw some of what was there before go
	slowed    bool    // what comes makes the container longer by much less than it did
}

// takingOf is the taking of the container of a path.
func takingOf(s *settled, path string) *taking {
	t := &taking{}
	p := &s.Examined.Process
	for _, c := range slices.Concat(looks.Courses(p), looks.HostCourses(p)) {
		if c.Path != path {
			continue
		}
		pace, fastest := c.Paces()
		t.since, t.at, t.slowed = c.Looks[0].At-c.Looks[0].Over, c.LastAt(), pace < stillLonger*fastest
		var before record.Holder
		for _, l := range c.Looks {
			h := l.Holder
			if h.Before != before.Before || h.Stayed != before.Stayed { // else it is told again
				t.lasted = l.Over
			}
			t.some = t.some || h.Stayed < h.Before || h.Length < before.Length
			before = h
		}
		t.site, t.after = before.Emptied, before.EmptiedAfter
	}
	if t.after >= maybeInMilli {
		t.after /= 1000
	}
	return t
}

// isOutlived reports whether the line's age has passed and the container grew on as if there were no such line.
func (t *taking) isOutlived() bool {
	if t.after == 0 || t.slowed {
		return false
	}
	full := t.since + math.Max(fullAfter*t.after, t.after+lazily)
	return !t.some && t.after < surelyOlder*t.lasted || t.at >= full
}
