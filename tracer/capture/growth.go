package capture

import (
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
)

// history is what a process held at a few earlier moments.
type history struct {
	began, until time.Time // the first look and the last while it worked
	next         time.Duration
	looks        []heldAt
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
	if len(h.looks) == looksKept {
		h.looks = append(h.looks[:0], h.looks[1:]...)
	}
	h.looks = append(h.looks, heldAt{after, l.held()})
	h.next = after + after/2
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
