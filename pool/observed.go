package pool

// observed is the pool's work with an observer: the same steps, with the device's
// usage read around them.
type observed struct{ *Pool }

func (p observed) get(g *grant) (Handle, error) {
	e := Event{
		Kind: EventGet, Label: g.label, Class: g.key.class(), RequestedBytes: g.length,
		ElementSize: uint64(g.elem),
		Refs:        1, Pooled: !g.unpooled, Before: p.dev.Usage(),
	}
	h, err := p.grant(g)
	if err != nil {
		return h, err
	}
	e.Anew = g.anew
	e.Hit, e.After = g.hit, p.dev.Usage()
	e.Class = h.s.class() // a best fit may be of another class than asked for
	p.observer.Observe(e)
	if g.hazard != nil {
		e.Kind, e.Hazard = EventHazard, *g.hazard
		p.observer.Observe(e)
	}
	return h, nil
}

func (p observed) release(h Handle) (Outcome, error) {
	e := h.s.event(EventRelease)
	e.RequestedBytes, e.Before = h.length, p.dev.Usage()
	var err error
	e.Outcome, e.Refs, err = p.giveUp(h)
	if e.Refs == 0 {
		return NoOutcome, err
	}
	e.After = p.dev.Usage()
	p.observer.Observe(e)
	return e.Outcome, err
}

func (p observed) evict(s *slot) {
	e := s.event(EventEvict)
	e.Before = p.dev.Usage()
	_ = p.charged.discard(s) // counted in ReleaseErrors
	e.After = p.dev.Usage()
	p.observer.Observe(e)
}

// event starts an event about the slot; its home is not locked.
func (s *slot) event(kind EventKind) Event {
	sh := s.lockHome()
	defer sh.mu.Unlock()
	return Event{Kind: kind, Label: s.label, Class: s.class(), RequestedBytes: s.requested,
		ElementSize: uint64(s.elem), Pooled: s.pooled}
}

func (s *slot) class() Class {
	c := s.key.class()
	if !s.pooled {
		c.Kind = KindUnpooled
	}
	return c
}

func (p observed) settle(s *slot) {
	e := s.event(EventSettle)
	e.Before = p.dev.Usage()
	out := p.unuse(s)
	if out == NoOutcome {
		return
	}
	e.Outcome, e.After = out, p.dev.Usage()
	p.observer.Observe(e)
}
