package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// siteCourse is what one place held of what it asked the driver for, at moments while
// the program ran.
type siteCourse struct {
	site  string
	at    []float64 // seconds
	sites []record.Site
}

const (
	// evenCost is by how much handles may differ in what they cost from look to look:
	// else the account does not rise with their number.
	evenCost = 2.
	// soonAfter is the part of the time between two looks in which the one at the end
	// comes too soon after the last to tell how fast things come.
	soonAfter = .3
)

// siteCourses are those of the places that the last look found, in its order.
func siteCourses(p *series.Process) []siteCourse {
	var out []siteCourse
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindDriverSites || e.Name != record.NameLook {
			continue
		}
		before, at := out, e.TMs/1000
		if n := len(p.Whole.Clock); n > 0 { // the last look comes when the program has ended
			at = math.Min(at, p.Whole.Clock[n-1])
		}
		out = nil
		for _, s := range e.Sites {
			c := siteCourse{site: s.Site}
			for i := range before {
				if before[i].site == s.Site {
					c = before[i]
				}
			}
			c.at, c.sites = append(c.at, at), append(c.sites, s)
			out = append(out, c)
		}
	}
	for i := range out {
		out[i].joinLast()
	}
	return out
}

// joinLast leaves out a look that the one at the end came soon after.
func (c *siteCourse) joinLast() {
	if n := len(c.at); n > 2 && c.at[n-1]-c.at[n-2] < soonAfter*(c.at[n-2]-c.at[n-3]) {
		c.at = append(c.at[:n-2:n-2], c.at[n-1])
		c.sites = append(c.sites[:n-2:n-2], c.sites[n-1])
	}
}

// handles reports whether the place made handles, which have no bytes.
func (c *siteCourse) handles() bool { return c.sites[len(c.sites)-1].Bytes == 0 }

// amount is what the place held at a look: bytes, or handles.
func (c *siteCourse) amount(i int) float64 {
	if c.handles() {
		return float64(c.sites[i].Count)
	}
	return float64(c.sites[i].Bytes)
}

// generations are what the place held more at each look than at the one before.
func (c *siteCourse) generations() []generation {
	var out []generation
	for i := 1; i < len(c.at); i++ {
		came := c.amount(i) - c.amount(i-1)
		out = append(out, generation{from: c.at[i-1], to: c.at[i], first: came, last: came,
			count: float64(c.sites[i].Count - c.sites[i-1].Count), lookedAt: c.at[i], end: c.at[i]})
	}
	return out
}

// rises reports whether the place held more at each of the last looks, and evenly, and
// how fast it came.
func (c *siteCourse) rises() (rate float64, ok bool) {
	all := c.generations()
	if len(all) < keepingGenerations {
		return 0, false
	}
	all = all[len(all)-keepingGenerations:]
	k := keptOf(all)
	return k.size / k.lasted, k.even()
}

// findDriverSites is what the capture's looks say: that places which ask the driver for
// memory, or make handles of it, hold more at each look, and that this explains the
// growth of an account. Nil where they do not.
func findDriverSites(x *examined) *finding {
	list := siteCourses(&x.Process)
	if x.Whole.Untimed || x.DeviceLived() < series.StartAlive {
		return nil
	}
	var largest [2]*siteCourse // of the device's memory, and of the host's
	var rates [2]float64
	for i := range list {
		c := &list[i]
		rate, ok := c.rises()
		if !ok {
			continue
		}
		if c.handles() {
			if f := x.foundHandles(c); f != nil {
				return f
			}
			continue
		}
		of := 0
		if place.IsHosts(c.site) {
			of = 1
		}
		if rates[of] += rate; largest[of] == nil || rate > c.rateOf(largest[of]) {
			largest[of] = c
		}
	}
	for of, keys := range [...][]series.Key{{series.Live, series.Untracked, series.Device}, {series.Host}} {
		if c := largest[of]; c != nil {
			if f := x.foundSite(c, rates[of], keys); f != nil {
				return f
			}
		}
	}
	return nil
}

// rateOf is how fast another place's bytes came.
func (c *siteCourse) rateOf(o *siteCourse) float64 {
	rate, _ := o.rises()
	return rate
}

// window is the time of the last generations of a place.
func (c *siteCourse) window() (from, to float64) {
	n := len(c.at)
	return c.at[n-1-keepingGenerations], c.at[n-1]
}

// foundSite is that places ask for more and more memory, at such a rate, and explain the
// growth of one of some series; nil where they do not. What a pool took for itself is
// the pool's.
func (x *examined) foundSite(c *siteCourse, rate float64, of []series.Key) *finding {
	from, to := c.window()
	asks := x.Whole.AsksItself()
	pool := x.Whole.Between(series.Live, from, to) + x.Whole.Between(series.Idle, from, to)
	if !asks && of[0] == series.Live && pool > 0 {
		rate -= pool
	}
	for _, k := range of {
		if x.Whole.Series[k] == nil || k == series.Live && !asks {
			continue
		}
		rise := x.Whole.Between(k, from, to)
		part := rate / rise
		explains := rise > 0 && part >= leastExplained && part <= mostExplained
		if !explains || rise*(to-from) <= x.Whole.Delta(k) {
			continue
		}
		f := x.foundBySites(k, c)
		if k == series.Device {
			f.owner = theProgram
		}
		return f
	}
	return nil
}

// foundHandles is that a place makes more and more handles, and that an account rises
// with their number; nil where none does.
func (x *examined) foundHandles(c *siteCourse) *finding {
	cached := strings.HasSuffix(c.site, " [module]") || strings.HasSuffix(c.site, " [graph]")
	from, to := c.window()
	if more := c.amount(len(c.at)-1) - c.amount(len(c.at)-1-keepingGenerations); more < account.MoreHandles ||
		cached && more < mostCached || to-from < series.StartAlive/2 {
		return nil
	}
	for _, k := range [...]series.Key{series.Untracked, series.Host} {
		if x.Whole.Series[k] == nil {
			continue
		}
		least, most, rose := math.Inf(1), 0., 0.
		n := len(c.at)
		for i := n - keepingGenerations; i < n; i++ {
			came := x.Whole.Level(k, c.at[i]) - x.Whole.Level(k, c.at[i-1])
			cost := came / (c.amount(i) - c.amount(i-1))
			least, most, rose = math.Min(least, cost), math.Max(most, cost), rose+came
		}
		if least > 0 && most <= evenCost*least && rose > x.Whole.Delta(k) {
			f := x.foundBySites(k, c)
			f.owner = theDriver
			return f
		}
	}
	return nil
}

// foundBySites is the finding about the place that holds most of what comes.
func (x *examined) foundBySites(k series.Key, c *siteCourse) *finding {
	first, last := len(c.at)-1-keepingGenerations, len(c.at)-1
	f := &finding{by: ByObjects, of: k, owner: ownerOf(k), size: x.roseBetween(k)}
	f.score = 1 - .15*math.Pow(.5, float64(len(c.at)-1-keepingGenerations))
	held := func(i int) string {
		if c.handles() {
			return units.Count(c.sites[i].Count)
		}
		return units.Bytes(float64(c.sites[i].Bytes)) + " in " +
			units.Counted(c.sites[i].Count, "block", "blocks")
	}
	f.why = fmt.Sprintf("%s from %s was more at each of %d looks and explains the growth: %s at %s, %s at %s",
		place.ClassOf(c.site), place.OfSite(c.site), keepingGenerations+1,
		held(first), units.Span(c.at[first]), held(last), units.Span(c.at[last]))
	return f
}

// roseBetween is by how much a series rose over its window.
func (x *examined) roseBetween(k series.Key) float64 {
	known := stat.Known(x.Judged.Series[k][min(x.grow[k].From, len(x.Judged.Clock)):])
	if len(known) == 0 {
		return 0
	}
	return math.Max(0, known[len(known)-1]-known[0])
}
