package evidence

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
)

// evenCost is by how much handles may differ in what they cost from look to look:
// else the account does not rise with their number.
const evenCost = 2.

// findDriverSites is what the capture's looks say: that places which ask the driver for
// memory, or make handles of it, hold more at each look, and that this explains the
// growth of an account. Nil where they do not.
func findDriverSites(x *growth.Examined) *finding.Finding {
	list := looks.SiteCourses(&x.Process)
	if x.Whole.Untimed || x.DeviceLived() < series.StartAlive {
		return nil
	}
	var largest [2]*looks.SiteCourse // of the device's memory, and of the host's
	var rates [2]float64
	for i := range list {
		c := &list[i]
		rate, ok := c.Rises()
		if !ok {
			continue
		}
		if c.Handles() {
			if f := foundHandles(x, c); f != nil {
				return f
			}
			continue
		}
		of := 0
		if place.IsHosts(c.Site) {
			of = 1
		}
		if rates[of] += rate; largest[of] == nil || rate > c.RateOf(largest[of]) {
			largest[of] = c
		}
	}
	for of, keys := range [...][]series.Key{{series.Live, series.Untracked, series.Device}, {series.Host}} {
		if c := largest[of]; c != nil {
			if f := foundSite(x, c, rates[of], keys); f != nil {
				return f
			}
		}
	}
	return nil
}

// foundSite is that places ask for more and more memory, at such a rate, and explain the
// growth of one of some series; nil where they do not. What a pool took for itself is
// the pool's.
func foundSite(x *growth.Examined, c *looks.SiteCourse, rate float64, of []series.Key) *finding.Finding {
	from, to := c.Window()
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
		explains := rise > 0 && part >= looks.LeastExplained && part <= looks.MostExplained
		if !explains || rise*(to-from) <= x.Whole.Delta(k) {
			continue
		}
		f := foundBySites(x, k, c)
		if k == series.Device {
			f.Owner = finding.TheProgram
		}
		return f
	}
	return nil
}

// foundHandles is that a place makes more and more handles, and that an account rises
// with their number; nil where none does.
func foundHandles(x *growth.Examined, c *looks.SiteCourse) *finding.Finding {
	cached := strings.HasSuffix(c.Site, " [module]") || strings.HasSuffix(c.Site, " [graph]")
	from, to := c.Window()
	if more := c.Amount(len(c.At)-1) - c.Amount(len(c.At)-1-looks.KeepingGenerations); more < account.MoreHandles ||
		cached && more < growth.MostCached || to-from < series.StartAlive/2 {
		return nil
	}
	for _, k := range [...]series.Key{series.Untracked, series.Host} {
		if x.Whole.Series[k] == nil {
			continue
		}
		least, most, rose := math.Inf(1), 0., 0.
		n := len(c.At)
		for i := n - looks.KeepingGenerations; i < n; i++ {
			came := x.Whole.Level(k, c.At[i]) - x.Whole.Level(k, c.At[i-1])
			cost := came / (c.Amount(i) - c.Amount(i-1))
			least, most, rose = math.Min(least, cost), math.Max(most, cost), rose+came
		}
		if least > 0 && most <= evenCost*least && rose > x.Whole.Delta(k) {
			f := foundBySites(x, k, c)
			f.Owner = finding.TheDriver
			return f
		}
	}
	return nil
}

// foundBySites is the finding about the place that holds most of what comes.
func foundBySites(x *growth.Examined, k series.Key, c *looks.SiteCourse) *finding.Finding {
	first, last := len(c.At)-1-looks.KeepingGenerations, len(c.At)-1
	f := &finding.Finding{By: finding.ByObjects, Of: k, Owner: finding.OwnerOf(k), Size: roseBetween(x, k)}
	f.Score = 1 - .15*math.Pow(.5, float64(len(c.At)-1-looks.KeepingGenerations))
	f.Why = fmt.Sprintf("%s from %s was more at each of %d looks and explains the growth: %s at %s, %s at %s",
		place.ClassOf(c.Site), place.OfSite(c.Site), looks.KeepingGenerations+1,
		heldAt(c, first), units.Span(c.At[first]), heldAt(c, last), units.Span(c.At[last]))
	return f
}

// heldAt is what a place held at a look, in words.
func heldAt(c *looks.SiteCourse, i int) string {
	if c.Handles() {
		return units.Count(c.Sites[i].Count)
	}
	return units.Bytes(float64(c.Sites[i].Bytes)) + " in " + units.Counted(c.Sites[i].Count, "block", "blocks")
}

// roseBetween is by how much a series rose over its window.
func roseBetween(x *growth.Examined, k series.Key) float64 {
	known := stat.Known(x.Judged.Series[k][min(x.Grow[k].From, len(x.Judged.Clock)):])
	if len(known) == 0 {
		return 0
	}
	return math.Max(0, known[len(known)-1]-known[0])
}
