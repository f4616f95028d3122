package verdict

import (
	"github.com/gpumem/gpumem/report/driven"
	"github.com/gpumem/gpumem/report/series"
)

// drivenBy is what the primary account's growth is driven by, nil where nothing
// explains it, and whether it goes on while steps pause.
func (s *settled) drivenBy() (d *DrivenBy, background bool) {
	if s.primary == series.Keys || !s.Grow[s.primary].Growing() {
		return nil, false
	}
	d, background = driven.Find(s.Judged, s.primary, s.class, &s.Grow[s.primary])
	for p := d; p != nil; p = p.And {
		p.Of = s.counted()
	}
	return d, background
}

// counted is what the primary key is a number of; empty for bytes.
func (s *settled) counted() string {
	switch s.primary {
	case series.Count:
		return "handles"
	case series.Handles:
		return s.Kind.Name
	}
	return ""
}
