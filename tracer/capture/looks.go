package capture

import (
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// Look is what a process held at a moment, by site as Sites tells them, of the largest
// sites alone.
type Look struct {
	At    time.Time
	Sites []record.Site
}

// Looks are what a process held at a few moments, the earliest first: the first of them
// when it had been at the driver for two seconds, each further half as much later again,
// the last at Final, or when it was last seen to work. It reads symbols as Sites does.
func (r *Reader) Looks(pid int) []Look {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.procs[pid]
	if p == nil {
		return nil
	}
	p.space.places = &r.places
	return p.told()
}

func (p *process) told() []Look {
	if p.final == nil {
		p.history.ends(p.ledger.held(), p.history.until)
		defer func() { p.history.told = p.history.told[:max(0, len(p.history.told)-1)] }()
	}
	askers := p.resolve(func(want func(uint32)) {
		for _, look := range p.history.told {
			for k := range look.sites {
				want(k.stack)
			}
		}
	})
	var out []Look
	for _, look := range p.history.told {
		merged := merge(askers)
		for k, s := range look.sites {
			merged.add(k, s, false)
		}
		out = append(out, Look{p.history.began.Add(look.after), merged.largestFirst()})
	}
	return out
}
