package looks

import (
	"math"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// SiteCourse is what one place held of what it asked the driver for, at moments while
// the program ran.
type SiteCourse struct {
	Site  string
	At    []float64 // seconds
	Sites []record.Site
}

// soonAfter is the part of the time between two looks in which the one at the end
// comes too soon after the last to tell how fast things come.
const soonAfter = .3

// siteLook is what the places held at one look.
type siteLook struct {
	at    float64 // seconds
	sites []record.Site
}

// SiteCourses are those of the places that the last look found, in its order.
func SiteCourses(p *series.Process) []SiteCourse {
	var out []SiteCourse
	for _, l := range withoutEnd(p, siteLooks(p)) {
		before := out
		out = nil
		for _, s := range l.sites {
			c := SiteCourse{Site: s.Site}
			for i := range before {
				if before[i].Site == s.Site {
					c = before[i]
				}
			}
			c.At, c.Sites = append(c.At, l.at), append(c.Sites, s)
			out = append(out, c)
		}
	}
	for i := range out {
		out[i].joinLast()
	}
	return out
}

func siteLooks(p *series.Process) []siteLook {
	var list []siteLook
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindDriverSites || e.Name != record.NameLook {
			continue
		}
		at := e.TMs / 1000
		if n := len(p.Whole.Clock); n > 0 { // the last look comes when the program has ended
			at = math.Min(at, p.Whole.Clock[n-1])
		}
		list = append(list, siteLook{at, e.Sites})
	}
	return list
}

// withoutEnd leaves the last look out where the program had ended by then, and held less than at the
// one before: it gives back what it has, as it ends.
func withoutEnd(p *series.Process, list []siteLook) []siteLook {
	n, rows := len(list), len(p.Whole.Clock)
	if n > 1 && rows > 0 && p.Run.Meta.End != nil && list[n-1].at >= p.Whole.Clock[rows-1] &&
		total(list[n-1].sites) < total(list[n-2].sites) {
		return list[:n-1]
	}
	return list
}

// total are the bytes of some places.
func total(sites []record.Site) int64 {
	sum := int64(0)
	for _, s := range sites {
		sum += s.Bytes
	}
	return sum
}

// joinLast leaves out a look that the one at the end came soon after.
func (c *SiteCourse) joinLast() {
	if n := len(c.At); n > 2 && c.At[n-1]-c.At[n-2] < soonAfter*(c.At[n-2]-c.At[n-3]) {
		c.At = append(c.At[:n-2:n-2], c.At[n-1])
		c.Sites = append(c.Sites[:n-2:n-2], c.Sites[n-1])
	}
}

// Handles reports whether the place made handles, which have no bytes.
func (c *SiteCourse) Handles() bool { return c.Sites[len(c.Sites)-1].Bytes == 0 }

// Amount is what the place held at a look: bytes, or handles.
func (c *SiteCourse) Amount(i int) float64 {
	if c.Handles() {
		return float64(c.Sites[i].Count)
	}
	return float64(c.Sites[i].Bytes)
}

// generations are what the place held more at each look than at the one before.
func (c *SiteCourse) generations() []Generation {
	var out []Generation
	for i := 1; i < len(c.At); i++ {
		came := c.Amount(i) - c.Amount(i-1)
		out = append(out, Generation{From: c.At[i-1], To: c.At[i], first: came, Last: came,
			Count: float64(c.Sites[i].Count - c.Sites[i-1].Count), lookedAt: c.At[i], End: c.At[i]})
	}
	return out
}

// Rises reports whether the place held more at each of the last looks, and evenly, and
// how fast it came.
func (c *SiteCourse) Rises() (rate float64, ok bool) {
	all := c.generations()
	if len(all) < KeepingGenerations {
		return 0, false
	}
	all = all[len(all)-KeepingGenerations:]
	k := KeptOf(all)
	return k.Size / k.Lasted, k.Even()
}

// RateOf is how fast another place's bytes came.
func (c *SiteCourse) RateOf(o *SiteCourse) float64 {
	rate, _ := o.Rises()
	return rate
}

// Window is the time of the last generations of a place.
func (c *SiteCourse) Window() (from, to float64) {
	n := len(c.At)
	return c.At[n-1-KeepingGenerations], c.At[n-1]
}

// GrownSites are the places that held more at the look at which most was there than at the first
// one from a moment on, with how much more; none without two such looks.
func GrownSites(p *series.Process, from float64) []record.Site {
	var first, last []record.Site
	most := int64(0)
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindDriverSites || e.Name != record.NameLook || e.TMs/1000 < from {
			continue
		}
		if first == nil {
			first = e.Sites
		}
		if sum := total(e.Sites); sum >= most {
			most, last = sum, e.Sites
		}
	}
	before := map[string]int64{}
	for _, s := range first {
		before[s.Site] = s.Bytes
	}
	var out []record.Site
	for _, s := range last {
		if s.GrowthBytes = s.Bytes - before[s.Site]; s.GrowthBytes > 0 {
			out = append(out, s)
		}
	}
	return out
}
