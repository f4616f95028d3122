package pool

import (
	"slices"
	"sync"
)

// maxHazards is how many hazards are kept with their details; all are
// counted.
const maxHazards = 100

// hazards are the first requests that were served with a buffer still in use.
// They are safe for concurrent use.
type hazards struct {
	mu    sync.Mutex
	first []Hazard
}

// note keeps the details of a request that is served with a slot still in use.
func (h *hazards) note(s *slot, g *grant) {
	g.hazard = &Hazard{Label: g.label, PreviousLabel: s.label, Bytes: s.bytes, Uses: s.uses,
		Site: g.site.String()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.first) < maxHazards {
		h.first = append(h.first, *g.hazard)
	}
}

func (h *hazards) list() []Hazard {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.first)
}
