package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// notEmptied says why a growth of a program of Python's stays open that a container holds which a line of the
// program empties, or rids of what is old: the looks saw nothing of it go, so that the line has taken nothing out
// yet, and may do so by the minute or never; or they saw some go, as of a window in time, which gets longer until
// it is as old as the line allows. What takes out single elements, as of sessions, leaves it open for some seconds.
// A pool's idle memory stays open with the live memory beside which it grows. Empty of another.
func notEmptied(s *settled) string {
	if s.Run.Meta.Versions["python"] == "" || s.primary.Counts() || s.primary == series.Keys {
		return ""
	}
	h := s.blamed(s.Holders())
	switch s.class {
	case HostGrowth:
		h = hostHolder(s, s.Holders())
	case PoolGrowth:
		h = holdsBeside(s)
	}
	if h == nil {
		return ""
	}
	t := takingOf(s, h.Path)
	span := growth.SpanOf(&s.Examined, &s.Grow[s.primary])
	switch {
	case t.site == "" || t.isOutlived() || t.after == 0 && !isYoungPython(s):
		return ""
	case t.isSingle && t.isSingly(span):
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

	// Sessions, requests and the like last for some seconds: for singlyFor a container may only get longer, and
	// memory with it, out of which a line takes single elements, also where most of the first have gone.
	singlyFor = 10. // seconds

	// Of elements of which less than mostStay are there at the next look the others may go as well, and a container of
	// such is full after some of their mean lives, unless what had stayed once stays on: see outlive.
	mostStay       = .75
	fullAfterLives = 5
	byChance       = .03

	// Where such a line had run, some elements had ended by then, and where all of some others are there when they are
	// older these are no sessions of that kind. Of such as live for singlyFor in the mean that is a chance of
	// exp(-fewLeft).
	fewLeft = 2.5
)

// holdsBeside is the holder with a name that has most of the live memory of a device, where that has grown by as
// much as the pool's idle memory that grows: what is left of the blocks that live ones were cut from. nil of another.
func holdsBeside(s *settled) *HolderRow {
	l := s.Judged
	if s.primary != series.Idle || l.Untimed || len(l.Clock) == 0 {
		return nil
	}
	from, to := l.Clock[s.Grow[s.primary].From], l.Clock[len(l.Clock)-1]
	if rose := s.Whole.Between(series.Live, from, to) * (to - from); !(rose >= s.size) { // also where it is unknown
		return nil
	}
	var most *HolderRow
	all := s.Holders()
	for i := range all {
		if h := &all[i]; !h.Host && hasName(h.Path) && (most == nil || h.Bytes > most.Bytes) {
			most = h
		}
	}
	return most
}

// taking is what the looks tell of a container and of a line that takes something out of it. Times are seconds.
type taking struct {
	site      string          // the line; empty where there is none
	isSingle  bool            // it takes out single elements
	after     float64         // the age that it compares with; 0 is unknown
	since, at float64         // when the first look's elements began to come, and when the last look was
	lasted    float64         // how long what was asked for again by the last look had been there at least
	some      bool            // a look saw some of what was there before go
	before    float64         // for how many the last look asked again that asked for any; 0 where none did
	stayed    float64         // how many of these were there
	outlived  bool            // what had stayed once was there still when it was asked for again
	ended     float64         // an age that none had reached that had ended when the line had run; 0 is unknown
	stays     bool            // others were all there when they were older, and many of them
	slowed    bool            // what comes makes the container longer by much less than it did
	asked     []record.Holder // one after the other for the same that had stayed
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
		for _, l := range looks.Told(p, path) {
			t.note(&l, &before)
			before = l.Holder
		}
		t.site, t.after = cmp.Or(before.Emptied, before.Taken), before.EmptiedAfter
		t.isSingle = before.Emptied == ""
	}
	if t.after >= maybeInMilli {
		t.after /= 1000
	}
	return t
}

// note takes in what is told of the container after what was told before.
func (t *taking) note(l *looks.Look, before *record.Holder) {
	h, life := &l.Holder, t.life()
	if h.Before != before.Before || h.Stayed != before.Stayed { // else it is told again
		t.lasted = l.Over
	}
	t.some = t.some || h.Stayed < h.Before || h.Length < before.Length
	if h.TakenRan && t.ended == 0 {
		t.ended = max(l.At-t.since, oldest(l))
	}
	if h.Before > 0 {
		t.before, t.stayed = float64(h.Before), float64(h.Stayed)
	}
	if n := len(t.asked); n > 0 && (h.Old != t.asked[0].Old || h.OldOverMs < t.asked[n-1].OldOverMs) {
		t.asked = nil // others had stayed
	}
	t.asked = append(t.asked, *h)
	life = max(life, t.life()) // what is asked for had stayed by this look, or by the one before
	t.outlived = t.outlived || outlive(t.asked, life)
	since := h.OldOverMs / 1000
	if h.Old > 0 && h.Old == h.Before {
		since += t.lasted // all had stayed by then
	}
	t.stays = t.stays || t.allStay(h.Before, h.Stayed, t.lasted) || t.allStay(h.Old, h.OldStayed, since)
}

// oldest is for how many seconds a container has been filled at the pace at which it was until a look, so far as its
// elements tell: each has an array then.
func oldest(l *looks.Look) float64 {
	h := &l.Holder
	if h.Count == 0 || h.Count > h.Length {
		return l.Over
	}
	return l.Over * float64(h.Length) / float64(h.Count)
}

// isSingly reports whether a growth that has lasted for some seconds is more than sessions that are still under way,
// which end one by one.
func (t *taking) isSingly(lasted float64) bool {
	lasted = max(t.at-t.since, lasted)
	switch {
	case t.stayed < mostStay*t.before:
		return t.outlived || lasted >= max(singlyFor, fullAfterLives*t.life())
	case t.some:
		return true
	}
	return lasted >= singlyFor || t.stays
}

// allStay reports whether all of some elements were there after some seconds, when each was older than those that had
// ended, and few would be there of such that live for less than singlyFor in the mean.
func (t *taking) allStay(before, stayed int64, seconds float64) bool {
	isOlder := t.ended > 0 && seconds >= t.ended
	return isOlder && stayed == before && float64(before)*seconds >= fewLeft*singlyFor
}

// life is for how many seconds an element is there in the mean, where some go at each moment as they did by the last
// look that asked: what is left of them after lasted seconds is exp(-lasted/life). Of a few one more may have stayed.
// Where none went it has no end.
func (t *taking) life() float64 {
	if t.stayed >= t.before {
		return math.Inf(1)
	}
	return t.lasted / math.Log((t.before+1)/(t.stayed+1))
}

// outlive reports whether a look that asked once more for what had stayed found so much of it that it stays for good:
// of elements of such a life in the mean so few would have gone by chance, since an earlier one that asked for the same
// or since they stayed.
func outlive(asked []record.Holder, life float64) bool {
	last := &asked[len(asked)-1]
	were, at := last.Old, 0.
	for i := range asked {
		goes := 1 - math.Exp((at-last.OldOverMs)/1000/life)
		if goes > 0 && atMost(max(0, were-last.OldStayed), were, goes) < byChance {
			return true
		}
		were, at = asked[i].OldStayed, asked[i].OldOverMs
	}
	return false
}

// atMost is the chance that at most some of n elements go, each of which goes by a chance of its own.
func atMost(some, n int64, goes float64) float64 {
	each, all := math.Pow(1-goes, float64(n)), 0.
	for k := range some + 1 {
		all += each
		each *= float64(n-k) / float64(k+1) * goes / (1 - goes)
	}
	return all
}

// isOutlived reports whether the line's age has passed and the container grew on as if there were no such line.
func (t *taking) isOutlived() bool {
	if t.after == 0 || t.slowed {
		return false
	}
	full := t.since + math.Max(fullAfter*t.after, t.after+lazily)
	return !t.some && t.after < surelyOlder*t.lasted || t.at >= full
}
