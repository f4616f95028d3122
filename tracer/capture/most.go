package capture

import "github.com/gpumem/gpumem/tracer/record"

const (
	// mostHandles and mostBytes are from where it is worth remembering who held
	// how much.
	mostHandles = 16
	mostBytes   = 1 << 20
)

// most is what a process held of one class when it held most of it, within a
// quarter: each look costs a walk over all that is held.
type most struct {
	amount int64
	sites  map[siteKey]record.Site
}

// amount is how much of a class there is in what is held: bytes, of handles
// their number.
func (c class) amount(held map[siteKey]record.Site) int64 {
	sum := int64(0)
	for k, s := range held {
		switch {
		case k.class != c:
		case c.handle():
			sum += s.Count
		default:
			sum += s.Bytes
		}
	}
	return sum
}

func (c class) worthNoting() int64 {
	if c.handle() {
		return mostHandles
	}
	return mostBytes
}

// noteMost looks whether the process holds more of a class than ever.
func (p *process) noteMost(c class) {
	if p.final != nil {
		return // it is giving up what it held
	}
	now := clamp(p.ledger.bytes[c])
	if c.handle() {
		now = p.ledger.count[c] - p.ledger.beyond[c] // those with a site
	}
	if now >= c.worthNoting() && now > p.most[c].amount+p.most[c].amount/4 {
		p.most[c] = most{amount: now, sites: p.ledger.held()}
	}
}

// gone adds to what is held the classes of which less than half is left of what
// there was, and reports which those are: their sites are those of back then. What
// a function kept is given up when it returns.
func (p *process) gone(held map[siteKey]record.Site) (all map[siteKey]record.Site, gone [classCount]bool) {
	all = map[siteKey]record.Site{}
	for c, m := range p.most {
		gone[c] = m.sites != nil && class(c).amount(held) < m.amount/2
		for k, s := range m.sites {
			if gone[c] && k.class == class(c) {
				all[k] = s
			}
		}
	}
	for k, s := range held {
		if !gone[k.class] {
			all[k] = s
		}
	}
	return all, gone
}
