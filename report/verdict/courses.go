package verdict

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// course is what the looks at a running program found below one path.
type course struct {
	path  string
	looks []look
}

// look is what one of them found.
type look struct {
	at, over float64 // seconds: when it was, and how long its bytes took to come
	holder   record.Holder
}

// rate is how fast the path's bytes came, in bytes a second.
func (l look) rate() float64 { return float64(l.holder.Bytes) / l.over }

// A program is looked at again at twice the age of the look before. A path that was
// longer each time up to the last look is no moment's work.
const (
	leastLooks  = 3
	stillComing = .6 // of the fastest rate, at the last look
	lookedUntil = .3 // of the time since the first look, at which the last one must have been
)

// courses are the paths that held more at each look up to the last one, in the order
// of that one. Of a program that nobody looked at, or not to its end, there are none.
func courses(p *series.Process) []course {
	var at map[string]int
	var out []course
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindHolders || !timed(e.Holders) {
			continue
		}
		before, known := out, at
		out, at = nil, map[string]int{}
		for _, h := range e.Holders {
			if h.OverMs <= 0 || h.Bytes <= 0 || h.Gone || h.Host {
				continue
			}
			c := course{path: h.Path}
			if j, ok := known[h.Path]; ok {
				c = before[j]
			} else if whole := wholeOf(h.Path); whole != "" {
				c.looks = together(before, whole)
			}
			c.add(e.TMs/1000, h)
			at[h.Path], out = len(out), append(out, c)
		}
	}
	return out
}

// timed reports whether holders are of a look at a program that ran on. What was given
// up by the end is told again there, with what an earlier look found.
func timed(list []record.Holder) bool {
	for i := range list {
		if list[i].OverMs > 0 && !list[i].Gone {
			return true
		}
	}
	return false
}

// add takes in what a look found. One that comes soon after another tells again what that
// one found, and is no look of its own.
func (c *course) add(at float64, h record.Holder) {
	if n := len(c.looks); n > 0 {
		before := &c.looks[n-1].holder
		if before.OverMs == h.OverMs && before.Bytes == h.Bytes && before.Length == h.Length {
			return
		}
	}
	c.looks = append(c.looks, look{at: at, over: h.OverMs / 1000, holder: h})
}

// longer reports whether the path got longer at each of some looks.
func (c *course) longer() bool { return len(c.looks) >= leastLooks && c.lengthens() }

// lengthens reports whether no look found the path no longer than the one before.
func (c *course) lengthens() bool {
	for i, l := range c.looks {
		if i > 0 && l.holder.Length > 0 && l.holder.Length <= c.looks[i-1].holder.Length {
			return false
		}
	}
	return true
}

// rises reports whether the path got longer at each look and still does.
func (c *course) rises() bool {
	fastest := 0.
	for _, l := range c.looks {
		fastest = math.Max(fastest, l.rate())
	}
	return c.longer() && c.looks[len(c.looks)-1].rate() >= stillComing*fastest
}

// gains are the bytes that came below each path that the looks found to the last, over the
// rows judged for what grows; of what a graph keeps by the path and the graph's name.
func (s *settled) gains() map[string]float64 {
	l := s.Judged
	if s.primary == series.Keys || len(l.Clock) == 0 || l.Untimed {
		return nil
	}
	lasted := l.Clock[len(l.Clock)-1] - l.Clock[min(s.grow[s.primary].From, len(l.Clock)-1)]
	out := map[string]float64{}
	for _, c := range courses(&s.examined.Process) {
		if c.rises() {
			out[c.path] = c.looks[len(c.looks)-1].rate() * lasted
		}
	}
	// Two looks tell the others: what they are named by is their rate.
	rates, still := lastRates(&s.examined.Process)
	graphs, ofGraphs := graphRates(&s.examined.Process)
	looks := map[string]int{}
	for _, c := range courses(&s.examined.Process) {
		looks[c.path] = len(c.looks)
	}
	for path := range still {
		if looks[path] > 1 {
			out[path] = math.Max(out[path], (rates[path]-ofGraphs[path])*lasted)
		}
	}
	for path, bytes := range gainsOnce(s) {
		out[path] = math.Max(out[path], bytes)
	}
	for path, rate := range graphs {
		out[path] = math.Max(out[path], math.Min(rate*lasted, s.size))
	}
	return out
}

// graphRates are, by path and graph, the bytes a second at which what graphs keep came, as
// the last look that told of one has it: it found more operations behind an output than the
// look before, so that it is no moment's work. Of are those of each path.
func graphRates(p *series.Process) (rates, of map[string]float64) {
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

// How many arrays one look must have found below a path for it to be no moment's work; of
// one whose bytes are also those by which what is live rose in that time, fewer.
const (
	manyThings = 16
	someThings = 8
)

// gainsOnce are the bytes that came below the paths of the last look, by path and graph, as
// far as it alone tells: where they came as fast as the growth, or a graph had as much as
// what is live had risen by, the path is taken to have held that part of all the growth.
func gainsOnce(s *settled) map[string]float64 {
	out := map[string]float64{}
	l := s.Judged
	if s.class != AppLeak || s.primary == series.Keys || len(l.Clock) == 0 || l.Untimed {
		return out
	}
	lasted := l.Clock[len(l.Clock)-1] - l.Clock[min(s.grow[s.primary].From, len(l.Clock)-1)]
	for _, e := range s.Events.About(s.PID) {
		if e.Kind != record.KindHolders || slices.ContainsFunc(e.Holders, func(h record.Holder) bool { return h.Gone }) {
			continue // the end tells again what a look found
		}
		clear(out)
		for _, h := range e.Holders {
			part := 0.
			switch {
			case h.Host:
			case h.Graph != "":
				part = float64(h.Bytes) / s.Whole.RisenUntil(series.Live, e.TMs/1000)
			case h.OverMs > 0 && (h.Count >= manyThings || h.Count >= someThings &&
				roseBy(s.Whole, &h, e.TMs/1000)):
				part = float64(h.Bytes) / (h.OverMs / 1000) / (s.size / lasted)
			}
			if part >= leastExplained && part <= mostExplained {
				out[h.Path+h.Graph] = math.Min(part, 1) * s.size
			}
		}
	}
	return out
}

// roseBy reports whether what is live rose by about a holder's bytes while these came,
// which was until a time.
func roseBy(l *series.Accounts, h *HolderRow, at float64) bool {
	over := h.OverMs / 1000
	part := float64(h.Bytes) / over / l.Between(series.Live, at-over, at)
	return part >= leastExplained && part <= mostExplained
}

// filling is how many bytes a container with a bound will hold when it is full, and in
// how many seconds that is; ok is false of one without, and of a full one.
func (c *course) filling() (bytes, seconds float64, ok bool) {
	l := c.looks[len(c.looks)-1]
	h := l.holder
	if h.Bound <= h.Length || h.Length == 0 || h.Count == 0 {
		return 0, 0, false
	}
	each := float64(h.Bytes) / float64(h.Count)
	left := each * float64(h.Bound-h.Length)
	return each * float64(h.Bound), left / l.rate(), true
}

// isFull reports whether the path is a container that had reached its bound by the last look.
func (c *course) isFull() bool {
	h := c.looks[len(c.looks)-1].holder
	return h.Bound > 0 && h.Count > 0 && h.Length >= h.Bound
}
