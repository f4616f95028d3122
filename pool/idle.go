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
		return p.observedRelease(h)
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
		err = p.discard(s)
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
	case s.pages > p.limit:
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
	evicted = append(evicted, p.collectRoom(sh, s.pages)...)
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
	if sh.idle.PageBytes*uint64(p.width.Load()) > p.policy.RestBytes && !p.restWanted.Load() {
		p.restWanted.Store(true)
	}
	if sh.inUse() > 0 {
		return false
	}
	sh.occupied.Store(false)
	return p.restWanted.Load()
}

// findRoom reports whether so many more bytes may become idle here; it takes
// some of what is spare for them when it must.
func (sh *shard) findRoom(p *Pool, bytes uint64) bool {
	if !p.tight {
		return true
	}
	need := sh.idle.PageBytes + bytes
	if need > sh.quota {
		sh.quota += p.takeSpare(need - sh.quota)
	}
	return need <= sh.quota
}

// shareRoom lets other shards have what is too much for one: most of what is
// free stays, as the shard will likely need it next.
func (sh *shard) shareRoom(p *Pool) {
	if p.tight && len(p.shards) > 1 && sh.quota-sh.idle.PageBytes > 4*p.chunk {
		sh.giveRoom(p, 2*p.chunk)
	}
}

// giveRoom makes the shard's free part of the limit spare, but for so many
// bytes.
func (sh *shard) giveRoom(p *Pool, keep uint64) {
	free := sh.quota - sh.idle.PageBytes - keep
	sh.quota -= free
	p.spare.Add(free)
}

// takeSpare takes the bytes and some more out of what no shard holds.
func (p *Pool) takeSpare(bytes uint64) uint64 {
	for {
		have := p.spare.Load()
		take := min(have, bytes+p.chunk)
		if take == 0 || p.spare.CompareAndSwap(have, have-take) {
			return take
		}
	}
}

// collectRoom makes the other shards give up room, idle buffers if they must,
// until bytes are spare.
func (p *Pool) collectRoom(own *shard, bytes uint64) (evicted []*slot) {
	for i := range p.shards {
		sh := &p.shards[i]
		if sh == own {
			continue
		}
		sh.mu.Lock()
		sh.giveRoom(p, 0)
		for !sh.age.empty() && p.spare.Load() < bytes {
			if old := sh.evict(p, sh.age.next.s); old != nil {
				evicted = append(evicted, old)
			}
			sh.giveRoom(p, 0)
		}
		sh.mu.Unlock()
		if p.spare.Load() >= bytes {
			break
		}
	}
	return evicted
}

// setLimit fixes the limit of idle bytes.
func (p *Pool) setLimit() {
	p.limit = p.policy.MaxIdleBytes
	if f := p.policy.IdleFraction; f > 0 {
		share := uint64(f * float64(p.info.RecommendedWorkingSet))
		if p.limit == 0 || share < p.limit {
			p.limit = share
		}
	}
	p.tight = p.policy.MaxIdleBytes > 0 || p.policy.IdleFraction > 0
	p.chunk = p.limit / uint64(8*len(p.shards))
	p.spare.Store(p.limit)
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
		p.observedEvict(s)
		return
	}
	_ = p.discard(s) // counted in ReleaseErrors; the caller asked for something else
}

// discard gives a forgotten slot's buffer back to the device.
func (p *Pool) discard(s *slot) error {
	p.frees.Add(1)
	p.reserved.Add(^(s.pages - 1))
	if err := s.buf.Release(); err != nil {
		p.releaseErrors.Add(1)
		return fmt.Errorf("release buffer %q: %w", s.label, err)
	}
	return nil
}
