package verdict

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// allocated says where most of what grew was asked for: "at train.py:88 in forward, called at
// train.py:120 in step", or, of a program that asks the driver itself and has no debugging
// information, "in cache::remember (server+0x1678)"; empty where no place asked for a quarter of it.
func allocated(s *settled, sites []SiteRow) string {
	if line := blocksAsked(s); line != "" {
		return "at " + line
	}
	if s.class == HostGrowth && sitesAreDrivers(s) {
		sites = hostSites(s, sites)
	}
	if ordered, half := streamOrdered(s, sites); len(ordered) > 0 {
		if line := place.Line(ordered, 4*half, true); line != "" {
			return "at " + line + callerOf(ordered, line)
		}
		return place.Function(ordered, 4*half)
	}
	own := s.primary == series.Live || s.primary == series.Untracked && s.class == AppLeak
	itself := own && s.Judged.AsksItself()
	if itself || poolAsked(s) {
		sites = growers(s, sites)
	} else {
		sites = withGivenBack(s, sites)
	}
	line := place.Line(sites, s.size, !itself)
	if line == "" && s.class == DriverGrowth && s.primary == series.Untracked {
		// The end tells what a place got more since a look in the middle.
		sites = grownSites(s)
		line = place.Line(sites, s.size, true)
	}
	if line != "" {
		_, driver := s.Sites() // what decided has a name and no caller
		return "at " + line + callerOf(slices.Concat(sites, driver), line)
	}
	if !itself && !(s.class == HostGrowth && sitesAreDrivers(s)) {
		return ""
	}
	return place.Function(sites, s.size)
}

// hostSites are the places that asked the driver for memory of the host; where the program gave all
// of it back before it ended, those that got more while it worked.
func hostSites(s *settled, sites []SiteRow) []SiteRow {
	noHosts := func(row SiteRow) bool { return !place.IsHosts(row.Site) }
	if rest := slices.DeleteFunc(slices.Clone(sites), noHosts); len(rest) > 0 {
		return rest
	}
	return slices.DeleteFunc(allGrown(s), noHosts)
}

// growers are the sites of what grew at the driver: the place that decided, or where none at the
// end has enough, those that got more while the program worked. One that gives all back before
// it ends has others at its end.
func growers(s *settled, sites []SiteRow) []SiteRow {
	if s.site != "" {
		return []SiteRow{{Site: s.site, GrowthBytes: int64(s.size)}}
	}
	if slices.ContainsFunc(sites, func(row SiteRow) bool { return float64(row.GrowthBytes) >= s.size/4 }) {
		return sites
	}
	if grown := grownSites(s); len(grown) > 0 {
		return grown
	}
	return sites
}

// grownSites are the places of the driver that got more of the device's memory while the program
// worked.
func grownSites(s *settled) []SiteRow {
	return slices.DeleteFunc(allGrown(s), func(row SiteRow) bool { return place.IsHosts(row.Site) })
}

// allGrown are those that got more of any memory.
func allGrown(s *settled) []SiteRow {
	clock, from := s.Judged.Clock, s.Grow[s.primary].From
	if len(clock) == 0 {
		return nil
	}
	return looks.GrownSites(&s.Examined.Process, clock[min(from, len(clock)-1)])
}

// withGivenBack are the sites of what the driver has on the device, where the program gave most of
// it back before it ended with those that got more while it worked.
func withGivenBack(s *settled, sites []SiteRow) []SiteRow {
	if s.class != DriverGrowth || s.primary != series.Untracked {
		return sites
	}
	all, gone := int64(0), int64(0)
	for _, row := range sites {
		if all += row.Bytes; strings.HasSuffix(row.Site, record.GoneSite("")) {
			gone += row.Bytes
		}
	}
	if gone <= all/2 {
		return sites
	}
	return append(slices.Clone(sites), grownSites(s)...)
}

// streamOrdered are the places that asked the driver's pools for what was in use of them, where
// these keep what a program that asks the driver itself gave back; and half of that.
func streamOrdered(s *settled, sites []SiteRow) (ordered []SiteRow, half float64) {
	if s.class != PoolGrowth || !s.Judged.AsksItself() {
		return nil, 0
	}
	for _, row := range sites {
		name := strings.TrimSuffix(row.Site, record.GoneSite(""))
		if name, is := strings.CutSuffix(name, " [stream-ordered memory]"); is {
			ordered = append(ordered, SiteRow{Site: name, Bytes: row.Bytes, Count: row.Count})
			half += float64(row.Bytes) / 2
		}
	}
	return ordered, half
}

// poolAsked reports whether nothing but the sites tells where memory came from, and these where a pool
// took it from the driver. It hands that out to others as well, so who fills a list says more.
func poolAsked(s *settled) bool {
	return sitesArePools(s) && blocksAsked(s) == ""
}

// sitesArePools reports whether the sites are where a pool took memory from the driver.
func sitesArePools(s *settled) bool {
	return (s.class == AppLeak || s.class == PoolGrowth) && sitesAreDrivers(s) && !s.Judged.AsksItself()
}

// allocatedBy is the verb of the sites' places.
func allocatedBy(s *settled, sites []SiteRow) string {
	ordered, _ := streamOrdered(s, sites)
	switch {
	case blocksAsked(s) != "":
		return "allocated "
	case poolAsked(s):
		return "taken from the driver "
	case len(ordered) > 0:
		return "most of what was in use was allocated "
	case len(sites) > 0 && record.IsIdleSite(sites[0].Site):
		return "last used "
	}
	return "allocated "
}

// siteRows are the sites of what grows. Where the program knows none of its own, or
// the driver's memory is what grows, they are those of what the driver was asked for.
func (s *settled) siteRows() []SiteRow {
	own, driver := s.Sites()
	if sitesAreDrivers(s) {
		return driver
	}
	return ofState(own, s.class == PoolGrowth)
}

// ofState are the sites of what lies idle in a pool, or of what does not. A program
// that tells none of the first has what it tells.
func ofState(own []SiteRow, idle bool) []SiteRow {
	if idle && !slices.ContainsFunc(own, func(row SiteRow) bool { return record.IsIdleSite(row.Site) }) {
		return own
	}
	return slices.DeleteFunc(slices.Clone(own), func(row SiteRow) bool { return record.IsIdleSite(row.Site) != idle })
}

// sitesAreDrivers reports whether siteRows are places that asked the driver.
func sitesAreDrivers(s *settled) bool {
	own, driver := s.Sites()
	return len(own) == 0 || s.class == DriverGrowth && len(driver) > 0
}
