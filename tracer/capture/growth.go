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
			return cmp.Or(cmp.Compare(amount(b), amount(a)), cmp.Compare(a.stack, b.stack),
				cmp.Compare(a.class, b.class))
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
