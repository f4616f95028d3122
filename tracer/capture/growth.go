package capture

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// firstLook is how long a process has been at the driver when what it holds is
	// noted for the first time; each further look comes half as much later again.
	firstLook = 2 * time.Second
	// looksKept are enough that one of them is from between a third and a half of the
	// time: each costs a walk over all that is held.
	looksKept = 3
	// looksTold cover all but the first twentieth of the time, and mostTold are the
	// sites of memory, and as many of handles, that each of them tells.
	looksTold = 8
	mostTold  = 12
)

// history is what a process held at a few earlier moments.
type history struct {
	began, until time.Time // the first look and the last while it worked
	next         time.Duration
	looks        []heldAt
	told         []heldAt // the largest sites alone
}

type heldAt struct {
	after time.Duration
	sites map[siteKey]record.Site
}

// note notes what a process holds when that is due. now is told while it works.
func (h *history) note(l *ledger, now time.Time) {
	if !l.started {
		return
	}
	if h.began.IsZero() {
		h.began, h.next = now, firstLook
	}
	h.until = now
	after := now.Sub(h.began)
	if after < h.next {
		return
	}
	look := heldAt{after, l.held()}
	h.looks = latest(h.looks, look, looksKept)
	h.told = latest(h.told, heldAt{after, largestOf(look.sites)}, looksTold)
	h.next = after + after/2
}

// ends notes what a process holds when its work ends.
func (h *history) ends(held map[siteKey]record.Site, now time.Time) {
	if !h.began.IsZero() {
		h.told = latest(h.told, heldAt{now.Sub(h.began), largestOf(held)}, looksTold+1)
	}
}

// latest are the last looks, no more than so many.
func latest(looks []heldAt, look heldAt, most int) []heldAt {
	if len(looks) == most {
		looks = append(looks[:0], looks[1:]...)
	}
	return append(looks, look)
}

// largestOf are the sites of most bytes, and those of most handles.
func largestOf(held map[siteKey]record.Site) map[siteKey]record.Site {
	var memory, handles []siteKey
	for k := range held {
		if k.class.handle() {
			handles = append(handles, k)
		} else {
			memory = append(memory, k)
		}
	}
	amount := func(k siteKey) int64 {
		if k.class.handle() {
			return held[k].Count
		}
		return held[k].Bytes
	}
	most := map[siteKey]record.Site{}
	for _, list := range [...][]siteKey{memory, handles} {
		slices.SortFunc(list, func(a, b siteKey) int {
			return cmp.Or(cmp.Compare(amount(b), amount(a)), cmp.Compare(a.stack, b.stack), cmp.Compare(a.class, b.class))
		})
		for _, k := range list[:min(len(list), mostTold)] {
			most[k] = held[k]
		}
	}
	return most
}

// before is what was held when about a third to a half of the time was over; nil when
// there was no look by then.
func (h *history) before() map[siteKey]record.Site {
	var at map[siteKey]record.Site
	for _, look := range h.looks {
		if look.after <= h.until.Sub(h.began)/2 {
			at = look.sites
		}
	}
	return at
}

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
	names := p.resolve(func(want func(uint32)) {
		for _, look := range p.history.told {
			for k := range look.sites {
				want(k.stack)
			}
		}
	})
	var out []Look
	for _, look := range p.history.told {
		merged := map[string]record.Site{}
		for k, s := range look.sites {
			name := k.name(names)
			m := merged[name]
			merged[name] = record.Site{Site: name, Bytes: m.Bytes + s.Bytes, Count: m.Count + s.Count}
		}
		out = append(out, Look{p.history.began.Add(look.after), largestFirst(merged)})
	}
	return out
}
