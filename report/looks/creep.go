package looks

import (
	"math"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// Creep is what came of a place by the looks, so evenly that what comes and goes beside it
// hides it from the sum and not from its own count.
type Creep struct {
	Blocks, Bytes float64 // that it held more at the last look
	Rate          float64 // bytes a second
}

// leastLater is the part of what came that must have come in the second half of the time: a
// set that filled in the first has less.
const leastLater = .4

// Creeps is what came between the last looks at a place, where it came evenly to within one
// block; false of another. Few blocks come at any rate: how many are enough is the caller's to
// say.
func (c *SiteCourse) Creeps() (Creep, bool) {
	n := len(c.At) - 1
	first := n - KeepingGenerations
	if first < 0 || c.Handles() {
		return Creep{}, false
	}
	blocks := func(i int) float64 { return float64(c.Sites[i].Count) }
	lasted := c.At[n] - c.At[first]
	out := Creep{Blocks: blocks(n) - blocks(first), Bytes: c.Amount(n) - c.Amount(first)}
	if out.Blocks <= 0 || out.Bytes <= 0 || lasted <= 0 {
		return Creep{}, false
	}
	out.Rate = out.Bytes / lasted
	later := 0.
	for i := first + 1; i <= n; i++ {
		came, took := blocks(i)-blocks(i-1), c.At[i]-c.At[i-1]
		if came < 0 || math.Abs(came-out.Blocks*took/lasted) > math.Max(1, came*evenly) {
			return Creep{}, false
		}
		if middle := (c.At[i] + c.At[i-1]) / 2; middle > c.At[first]+lasted/2 {
			later += came
		}
	}
	return out, later >= leastLater*out.Blocks
}

// GrownSites are the places that held more of the device's memory at the last look at which most
// was there than at the first one from a moment on, with how much more; none without two such
// looks.
func GrownSites(p *series.Process, from float64) []record.Site {
	var first, last []record.Site
	most := int64(0)
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindDriverSites || e.Name != record.NameLook || e.TMs/1000 < from {
			continue
		}
		total := int64(0)
		for _, s := range e.Sites {
			total += s.Bytes
		}
		if first == nil {
			first = e.Sites
		}
		if total >= most {
			most, last = total, e.Sites
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
