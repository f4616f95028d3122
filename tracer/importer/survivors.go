package importer

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// maxSites bounds the sites of a run.
const maxSites = 10_000

// maxKeptSites bounds the sites that are told apart while a file is read;
// what comes later stands under otherSites.
const (
	maxKeptSites = 1 << 18
	maxSiteBytes = 64 << 20 // of their names
	maxSite      = 4 << 10  // of one name
	otherSites   = "other allocation sites"
)

// survivors are what is held, by allocation site.
type survivors struct {
	sites map[string]*record.Site
	bytes int // of the names
}

func newSurvivors() *survivors { return &survivors{sites: map[string]*record.Site{}} }

func (all *survivors) add(site string, bytes, count int64) {
	if len(site) > maxSite {
		site = clipped(site, maxSite)
	}
	s := all.sites[site]
	if s == nil && (len(all.sites) >= maxKeptSites || all.bytes >= maxSiteBytes) {
		site = otherSites
		s = all.sites[site]
	}
	if s == nil {
		s = &record.Site{Site: site}
		all.sites[site] = s
		all.bytes += len(site)
	}
	s.Bytes += bytes
	s.Count += count
}

// addSites adds the survivors to the run's events, the largest first.
func addSites(run *record.Run, held *survivors, tMs float64) {
	all := make([]record.Site, 0, len(held.sites))
	for _, s := range held.sites {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b record.Site) int {
		if a.Bytes != b.Bytes {
			if a.Bytes > b.Bytes {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Site, b.Site)
	})
	if n := len(all) - maxSites; n > 0 {
		note(run, "%d more allocation sites, the smallest, were left out", n)
		all = all[:maxSites]
	}
	if len(all) > 0 {
		run.Events = append(run.Events, record.Event{TMs: tMs, Kind: record.KindSites, Sites: all})
	}
}
