package capture

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// asker is where a call came from: the Site and Caller of a record.Site.
type asker struct{ site, caller string }

// merged are sites by name: many call stacks may have one.
type merged struct {
	askers map[uint32]asker // by the number of a stack
	sites  map[string]record.Site
	calls  map[asker]int64 // bytes
}

// merge begins with no sites. The caller adds what stacks hold, then takes the list.
func merge(askers map[uint32]asker) *merged {
	return &merged{askers, map[string]record.Site{}, map[asker]int64{}}
}

// add counts what a stack holds of a class to its site; gone marks what was given back.
func (m *merged) add(k siteKey, s record.Site, gone bool) {
	by := asker{k.name(m.askers), m.askers[k.stack].caller}
	if gone {
		by.site = record.GoneSite(by.site)
	}
	all := m.sites[by.site]
	m.sites[by.site] = record.Site{Site: by.site, Bytes: all.Bytes + s.Bytes, Count: all.Count + s.Count,
		GrowthBytes: all.GrowthBytes + s.GrowthBytes}
	m.calls[by] += s.Bytes
}

// less takes what a stack held before from the growth of its site, if that is there.
func (m *merged) less(k siteKey, bytes int64) {
	if s, there := m.sites[k.name(m.askers)]; there {
		s.GrowthBytes -= bytes
		m.sites[s.Site] = s
	}
}

// largestFirst are the sites, each with the caller of more than half of its bytes.
func (m *merged) largestFirst() []record.Site {
	for by, bytes := range m.calls {
		if s := m.sites[by.site]; bytes > s.Bytes/2 {
			s.Caller = by.caller
			m.sites[by.site] = s
		}
	}
	return slices.SortedFunc(maps.Values(m.sites), func(a, b record.Site) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Count, a.Count),
			strings.Compare(a.Site, b.Site))
	})
}

// name is the site's, by the names of call stacks.
func (k siteKey) name(askers map[uint32]asker) string {
	name := askers[k.stack].site
	if name == "" {
		name = "unknown site"
	}
	if k.class != classDevice {
		name += " [" + classNames[k.class] + "]"
	}
	return name
}
