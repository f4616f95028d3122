package looks

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// Course is what the looks at a running program found below one path.
type Course struct {
	Path  string
	Looks []Look
}

// Look is what one of them found.
type Look struct {
	At, Over float64 // seconds: when it was, and how long its bytes took to come
	Holder   record.Holder
	Again    bool // the holder was asked again right after it
	WentOn   bool // and was longer still
}

// Of elements by how many bytes they have, an agent knows a bound about.
const stillBound = 1.05

// A holder that a look told is asked once more a second later how long it has become.
const (
	askedAgain = 2.  // seconds after the look, at most
	sameBegin  = .05 // seconds by which the moments differ that both compare with
)

// Rate is how fast the path's bytes came, in bytes a second.
func (l Look) Rate() float64 { return float64(l.Holder.Bytes) / l.Over }

// A program is looked at again at twice the age of the look before. A path that was
// longer each time up to the last look is no moment's work.
const (
	LeastLooks  = 3
	stillComing = .6 // of the fastest rate, at the last look
	LookedUntil = .3 // of the time since the first look, at which the last one must have been
)

// Courses are the paths that held more at each look up to the last one, in the order
// of that one. Of a program that nobody looked at, or not to its end, there are none.
func Courses(p *series.Process) []Course { return coursesOf(p, false) }

// HostCourses are the same of what is told to hold host memory beside a device.
func HostCourses(p *series.Process) []Course { return coursesOf(p, true) }

func coursesOf(p *series.Process, host bool) []Course {
	var at map[string]int
	var out []Course
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindHolders || !Timed(e.Holders) {
			continue
		}
		before, known := out, at
		out, at = nil, map[string]int{}
		for _, h := range e.Holders {
			if h.OverMs <= 0 || h.Bytes <= 0 || h.Gone || h.Host != host {
				continue
			}
			c := Course{Path: h.Path}
			if j, ok := known[h.Path]; ok {
				c = before[j]
			} else if whole := wholeOf(h.Path); whole != "" {
				c.Looks = together(before, whole)
			}
			c.add(e.TMs/1000, h)
			at[h.Path], out = len(out), append(out, c)
		}
	}
	return out
}

// Told is all that is told of a path while the program ran, in order: also what comes soon after a look, and is no look
// of its own in a Course.
func Told(p *series.Process, path string) []Look {
	var out []Look
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindHolders || !Timed(e.Holders) {
			continue
		}
		for _, h := range e.Holders {
			if h.Path == path && h.OverMs > 0 && !h.Gone {
				out = append(out, Look{At: e.TMs / 1000, Over: h.OverMs / 1000, Holder: h})
			}
		}
	}
	return out
}

// Timed reports whether holders are of a look at a program that ran on. What was given
// up by the end is told again there, with what an earlier look found.
func Timed(list []record.Holder) bool {
	for i := range list {
		if list[i].OverMs > 0 && !list[i].Gone {
			return true
		}
	}
	return false
}

// add takes in what a look found. One that comes soon after another tells again what that
// one found, or what has come since, and is no look of its own.
func (c *Course) add(at float64, h record.Holder) {
	if float64(h.Length) > stillBound*float64(h.Bound) {
		h.Bound = 0 // it has more than it could have
	}
	l := Look{At: at, Over: h.OverMs / 1000, Holder: h}
	if n := len(c.Looks); n > 0 {
		last := &c.Looks[n-1]
		before := &last.Holder
		if before.OverMs == h.OverMs && before.Bytes == h.Bytes && before.Length == h.Length {
			return
		}
		if l.isAskedAgain(last) {
			l.Again, l.WentOn = true, last.WentOn || h.Length > before.Length
			*last = l
			return
		}
	}
	c.Looks = append(c.Looks, l)
}

// isAskedAgain reports whether it is no look of its own, but what a holder had become right
// after the last one.
func (l *Look) isAskedAgain(last *Look) bool {
	return l.At < last.At+askedAgain && math.Abs((l.At-l.Over)-(last.At-last.Over)) < sameBegin
}

// LastAt is when the last look was.
func (c *Course) LastAt() float64 { return c.Looks[len(c.Looks)-1].At }

// Longer reports whether the path got longer at each of some looks.
func (c *Course) Longer() bool { return len(c.Looks) >= LeastLooks && c.Lengthens() }

// Lengthens reports whether no look found the path no longer than the one before.
func (c *Course) Lengthens() bool {
	for i, l := range c.Looks {
		if i > 0 && l.Holder.Length > 0 && l.Holder.Length <= c.Looks[i-1].Holder.Length {
			return false
		}
	}
	return true
}

// Rises reports whether the path got longer at each look and still does.
func (c *Course) Rises() bool { return c.Longer() && c.KeepsPace() }

// KeepsPace reports whether what came by the last look came about as fast as at any other, and stayed.
func (c *Course) KeepsPace() bool {
	fastest := 0.
	for _, l := range c.Looks {
		fastest = math.Max(fastest, l.Rate())
	}
	return c.Looks[len(c.Looks)-1].Rate() >= stillComing*fastest && !c.TurnsOver()
}

// TurnsOver reports whether some of what was there went by the last look, and what came made the container longer
// by much less than before: a window in time gets no longer once it is full.
func (c *Course) TurnsOver() bool {
	pace, fastest := c.Paces()
	last := &c.Looks[len(c.Looks)-1].Holder
	return last.Stayed < last.Before && pace < stillComing*fastest
}

// IsLevel reports whether some of what was there went by the last look, and the container had been longer, or as long
// after it had lengthened, at a look before: as many came as went. One that always has as many, such as a list of
// things that get longer themselves, tells nothing.
func (c *Course) IsLevel() bool {
	n := len(c.Looks) - 1
	first, last := &c.Looks[0].Holder, &c.Looks[n].Holder
	return last.Stayed < last.Before && last.Length > first.Length &&
		slices.ContainsFunc(c.Looks[:n], func(l Look) bool { return l.Holder.Length >= last.Length })
}

// Paces are by how many elements a second the container got longer from the last look but one to the last, and
// between any two at most; 0 where there was one look.
func (c *Course) Paces() (last, fastest float64) {
	for i := 1; i < len(c.Looks); i++ {
		if before := &c.Looks[i-1]; c.Looks[i].At > before.At {
			last = float64(c.Looks[i].Holder.Length-before.Holder.Length) / (c.Looks[i].At - before.At)
			fastest = math.Max(fastest, last)
		}
	}
	return last, fastest
}

// Came is what came below the path in all, and from when until when. A look may tell again
// what the one before told, and more.
func (c *Course) Came() (from, to, bytes float64) {
	from = math.Inf(1)
	for i := len(c.Looks) - 1; i >= 0; i-- {
		l := c.Looks[i]
		if i < len(c.Looks)-1 && l.At > from+l.Over/2 {
			continue
		}
		from, to, bytes = math.Min(from, l.At-l.Over), math.Max(to, l.At), bytes+float64(l.Holder.Bytes)
	}
	return from, to, bytes
}

// GraphRates are, by path and graph, the bytes a second at which what graphs keep came, as
// the last look that told of one has it: it found more operations behind an output than the
// look before, so that it is no moment's work. Of are those of each path.
func GraphRates(p *series.Process) (rates, of map[string]float64) {
	rates, of = map[string]float64{}, map[string]float64{}
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindHolders {
			continue
		}
		for _, h := range e.Holders {
			if h.Graph != "" && h.OverMs > 0 && !h.Gone {
				rates[h.Path+h.Graph] = float64(h.Bytes) / (h.OverMs / 1000)
				of[h.Path] = rates[h.Path+h.Graph]
			}
		}
	}
	return rates, of
}

// A container of a few large things that is given one after the other looks like a leak until it has them all. One
// that the program only adds to needs fewer.
const (
	FewThings = 8
	fewAdded  = 5
)

// IsFew reports whether the path's container had so few elements at the last look that it may be a set of a few
// things that still fills.
func (c *Course) IsFew() bool {
	h := &c.Looks[len(c.Looks)-1].Holder
	least := int64(FewThings)
	if h.OnlyAdded && h.HasNewEach() {
		least = fewAdded
	}
	return h.Length > 0 && h.Length < least
}

// Filling is how many bytes a container with a bound will hold when it is full, and in
// how many seconds that is; ok is false of one without, and of a full one.
func (c *Course) Filling() (bytes, seconds float64, ok bool) {
	l := c.Looks[len(c.Looks)-1]
	h := l.Holder
	if h.Bound <= h.Length || h.Length == 0 || h.Count == 0 {
		return 0, 0, false
	}
	each := float64(h.Bytes) / float64(h.Count)
	left := each * float64(h.Bound-h.Length)
	return each * float64(h.Bound), left / l.Rate(), true
}

// IsFull reports whether the path is a container that had reached its bound by the last look.
func (c *Course) IsFull() bool {
	h := c.Looks[len(c.Looks)-1].Holder
	return h.Bound > 0 && h.Count > 0 && h.Length >= h.Bound
}

// LastRates are, by path, the bytes a second at which holders came at the last look at
// the running program that found them; still has those that the last look of all found.
func LastRates(p *series.Process) (rates map[string]float64, still map[string]bool) {
	rates = map[string]float64{}
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindHolders || !Timed(e.Holders) {
			continue
		}
		bytes, over := map[string]float64{}, map[string]float64{}
		for _, h := range e.Holders {
			if h.Gone {
				continue // told again from an earlier look
			}
			bytes[h.Path] += float64(h.Bytes) // what an autograd graph keeps counts to its holder
			over[h.Path] = max(over[h.Path], h.OverMs/1000)
		}
		still = map[string]bool{}
		for path, seconds := range over {
			if seconds > 0 {
				rates[path], still[path] = bytes[path]/seconds, true
			}
		}
	}
	return rates, still
}

// Objects explain an account's growth when the rate at which they come is so much of
// the account's.
const (
	LeastExplained = .5
	MostExplained  = 1.7
)

// Larger is the one of two courses whose bytes come faster; either may be nil.
func Larger(a, b *Course) *Course {
	if a == nil || b != nil && b.Looks[len(b.Looks)-1].Rate() > a.Looks[len(a.Looks)-1].Rate() {
		return b
	}
	return a
}

// Words are what the looks at a path found.
func (c *Course) Words() string {
	a, b := c.Looks[0].Holder, c.Looks[len(c.Looks)-1].Holder
	if a.Length > 0 && b.Length > 0 {
		return fmt.Sprintf("%s at %s, %s at %s", units.Counted(a.Length, "element", "elements"),
			units.Span(c.Looks[0].At), units.Count(b.Length), units.Span(c.Looks[len(c.Looks)-1].At))
	}
	return fmt.Sprintf("%s came in %s, then %s in %s", units.Bytes(a.Bytes),
		units.Span(c.Looks[0].Over), units.Bytes(b.Bytes), units.Span(c.Looks[len(c.Looks)-1].Over))
}
