package pool

import "fmt"

// Release gives one reference of h up, as Handle.Release does, after checking
// that h is of this pool: one of another pool is an error matching ErrForeign
// and stays as it is.
func (p *Pool) Release(h Handle) (Outcome, error) {
	if err := p.owns(h); err != nil {
		return NoOutcome, fmt.Errorf("release: %w", err)
	}
	return p.release(h)
}

func (p *Pool) owns(h Handle) error {
	switch {
	case h.s == nil:
		return ErrNoHandle
	case h.s.pool != p:
		return ErrForeign
	}
	return nil
}

func (p *Pool) release(h Handle) (Outcome, error) {
	if p.observer != nil {
		return observed{p}.release(h)
	}
	out, _, err := p.giveUp(h)
	return out, err
}

// giveUp gives one reference up, and decides over the slot when it was the
// last. It returns how many there were.
func (p *Pool) giveUp(h Handle) (Outcome, int, error) {
	sh := h.s.lockHome()
	refs := h.unref(sh)
	if refs != 1 {
		sh.mu.Unlock()
		if refs == 0 {
			return NoOutcome, 0, fmt.Errorf("release: %w", ErrStale)
		}
		return Shared, refs, nil
	}
	if p.policy.DropWhenBusy {
		sh.mu.Unlock()
		out, err := p.giveUpUnlessBusy(sh, h.s)
		return out, refs, err
	}
	out, err := p.decide(sh, h.s, false)
	return out, refs, err
}

// giveUpUnlessBusy drops the slot when another Get or Release is at work.
func (p *Pool) giveUpUnlessBusy(sh *shard, s *slot) (Outcome, error) {
	free := p.busy.TryLock()
	if free {
		defer p.busy.Unlock()
	}
	sh.lock(p) // still its home: only idle slots move
	return p.decide(sh, s, !free)
}

// decide moves the slot out of live into pending, idle or back to the device,
// and unlocks its home.
func (p *Pool) decide(sh *shard, s *slot, busy bool) (Outcome, error) {
	if s.uses > 0 && !p.policy.EarlyReturn {
		sh.leaveLive(s)
		sh.enterPending(s)
		sh.outcomes[Pending]++
		sh.mu.Unlock()
		return Pending, nil
	}
	out, evicted := p.keep(sh, s, busy)
	sh.leaveLive(s)
	return p.conclude(sh, s, out, evicted)
}

// conclude carries a decision out on a slot that is in no state, and unlocks
// the shard.
func (p *Pool) conclude(sh *shard, s *slot, out Outcome, evicted []*slot) (Outcome, error) {
	drop := false
	switch {
	case out == Returned:
		s.list.kept++
		sh.enterIdle(s)
	case s.uses > 0: // an early return that was refused
		out = Pending
		sh.enterPending(s)
	default:
		drop = true
		sh.forget(s)
	}
	sh.outcomes[out]++
	rest := p.atRest(sh)
	sh.mu.Unlock()

	for _, old := range evicted {
		p.evict(old)
	}
	var err error
	if drop {
		err = p.charged.discard(s)
	}
	if rest {
		p.rest()
	}
	return out, err
}

// keep says whether the slot may become idle; the caller enters it before the
// lock is released. It may unlock and relock the shard; the slot is the
// caller's alone meanwhile. Buffers that had to go for it are returned, to be
// evicted after unlocking.
func (p *Pool) keep(sh *shard, s *slot, busy bool) (Outcome, []*slot) {
	switch l := s.list; {
	case l == nil || l.maxIdle == 0 || p.closed.Load():
		return NotPooled, nil
	case busy:
		return Busy, nil
	case l.maxIdle > 0 && l.idles >= uint64(l.maxIdle):
		return CapFull, nil
	case sh.findRoom(p, s.pages):
		return Returned, nil
	case s.pages > p.room.limit:
		return CapFull, nil
	}
	return p.makeRoom(sh, s)
}

// makeRoom evicts older idle buffers, of sh first, until the slot may become
// idle.
func (p *Pool) makeRoom(sh *shard, s *slot) (_ Outcome, evicted []*slot) {
	for !sh.age.empty() {
		if old := sh.evict(p, sh.age.next.s); old != nil {
			evicted = append(evicted, old)
		}
		if sh.findRoom(p, s.pages) {
			return Returned, evicted
		}
	}
	sh.mu.Unlock()
	evicted = append(evicted, p.shards.collectRoom(p, sh, s.pages)...)
	sh.mu.Lock()
	switch {
	case p.closed.Load(): // meanwhile
		return NotPooled, evicted
	case sh.findRoom(p, s.pages):
		return Returned, evicted
	}
	return CapFull, evicted
}

// atRest reports that the program may just have given its last buffer up and
// left more idle than it should: the caller then calls rest, unlocked. sh is
// locked.
//
// A shard raises restWanted once it alone has more than its share of the rest
// idle; before that no shard needs to look at the others.
func (p *Pool) atRest(sh *shard) bool {
	if !p.policy.TrimAtRest {
		return false
	}
	if sh.idle.PageBytes*uint64(p.shards.width.Load()) > p.policy.RestBytes && !p.restWanted.Load() {
		p.restWanted.Store(true)
	}
	if sh.inUse() > 0 {
		return false
	}
	sh.occupied.Store(false)
	return p.restWanted.Load()
}

// evict retires an idle slot for the policy and counts it. The result is nil
// when a command still uses the buffer, so that it goes only later.
func (sh *shard) evict(p *Pool, s *slot) *slot {
	sh.evicted.enter(s)
	if !sh.retire(p, s) {
		return nil
	}
	return s
}

// evict gives an evicted slot's buffer back to the device; no lock is held.
func (p *Pool) evict(s *slot) {
	if s == nil {
		return
	}
	if p.observer != nil {
		observed{p}.evict(s)
		return
	}
	_ = p.charged.discard(s) // counted in ReleaseErrors; the caller asked for something else
}
