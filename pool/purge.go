package pool

import (
	"errors"
	"fmt"

	"github.com/gpumem/gpumem/metal"
)

// Action says what gave idle memory back.
type Action string

// The actions of receipts.
const (
	ActionPurge       Action = "purge"         // Purge
	ActionTrim        Action = "trim"          // Trim
	ActionRest        Action = "rest"          // Policy.TrimAtRest
	ActionSweep       Action = "sweep"         // Policy.SweepAtWait
	ActionOutOfMemory Action = "out of memory" // before a refused request is retried
	ActionWorkingSet  Action = "working set"   // before a request that would not fit it
	ActionCleanup     Action = "cleanup"       // Batch.Cleanup emptied the parameter pools
	ActionClose       Action = "close"         // Close
)

// Receipt is what an action gave back: what the pool claims, beside what the
// device counted around it.
type Receipt struct {
	Action  Action
	Buffers uint64 // given back to the device
	Bytes   uint64 // their lengths
	// PageBytes is what the device charged for them: the claim that
	// ReturnedBytes is held against.
	PageBytes uint64
	// Deferred are idle buffers that a command still uses (early return);
	// they are pending now and go when it has completed.
	Deferred uint64
	Errors   uint64 // buffers that the device refused to take back
	Before   metal.Usage
	After    metal.Usage
}

// ReturnedBytes is by how much the device's charge fell; concurrent work of
// others is in it.
func (r Receipt) ReturnedBytes() int64 { return r.Before.AllocatedBytes - r.After.AllocatedBytes }

// Purge gives every idle buffer back to the device, marked Empty first, so
// that its pages go at once. Live and pending buffers are not touched.
func (p *Pool) Purge() Receipt {
	p.batches.poll()
	return purge(p, ActionPurge)
}

// Trim drops what the policy would drop if the program paused now: buffers
// that are too old, everything above Policy.RestBytes when nothing is live,
// everything that a wait would sweep. Policies that never trim drop nothing.
func (p *Pool) Trim() Receipt {
	p.batches.poll()
	return p.drop(ActionTrim, func(total Stats) (stop func(*slot, *shard, uint64) bool) {
		atRest := p.policy.TrimAtRest && total.Live.Count+total.Pending.Count == 0
		return func(s *slot, sh *shard, idle uint64) bool {
			switch {
			case p.policy.SweepAtWait:
				return false
			case atRest && idle > p.policy.RestBytes:
				return false
			}
			return p.policy.TrimAfter == 0 || sh.clock()-s.idleSince <= p.policy.TrimAfter
		}
	})
}

// purge drops all idle buffers.
func purge(p *Pool, action Action) Receipt {
	noteIdle(p)
	return p.drop(action, func(Stats) func(*slot, *shard, uint64) bool {
		return func(*slot, *shard, uint64) bool { return false }
	})
}

// rest trims after the last live buffer has gone.
func (p *Pool) rest() {
	for i := range p.shards.width.Load() {
		if p.shards.all[i].occupied.Load() {
			return
		}
	}
	noteIdle(p)
	p.drop(ActionRest, func(total Stats) func(*slot, *shard, uint64) bool {
		p.restWanted.Store(false)
		busy := total.Live.Count+total.Pending.Count > 0
		return func(_ *slot, _ *shard, idle uint64) bool { return busy || idle <= p.policy.RestBytes }
	})
}

// fitWorkingSet drops the oldest idle buffers when a new buffer would
// otherwise not fit the working set: what the pool keeps must not push out
// what the program uses. Only policies with a fraction of it care.
func (p *Pool) fitWorkingSet(bytes uint64) {
	set := p.info.RecommendedWorkingSet
	if p.policy.IdleFraction == 0 || set == 0 || p.charged.reserved.Load()+bytes <= set {
		return
	}
	p.drop(ActionWorkingSet, func(total Stats) func(*slot, *shard, uint64) bool {
		used := total.Live.PageBytes + total.Pending.PageBytes + bytes
		return func(_ *slot, _ *shard, idle uint64) bool { return used+idle <= set }
	})
}

// drop gives idle buffers back, shard by shard the oldest first, until the
// rule that choose makes from the present totals says stop. idle is what is
// idle at that moment, in bytes of pages.
func (p *Pool) drop(action Action,
	choose func(total Stats) (stop func(s *slot, sh *shard, idle uint64) bool)) Receipt {
	r := Receipt{Action: action, Before: p.dev.Usage()}
	var gone []*slot
	shards := p.shards.lockAll()
	total := sum(shards)
	stop, idle := choose(total), total.Idle.PageBytes
	for i := range shards {
		sh := &shards[i]
		for !sh.age.empty() {
			s := sh.age.next.s
			if stop(s, sh, idle) {
				break
			}
			idle -= s.pages
			gone = sh.give(p, s, &r, gone)
		}
	}
	unlockAll(shards)
	p.giveBack(&r, gone)
	return r
}

// give takes an idle slot out of the pool and appends it to those that are gone, or
// counts it as deferred while the device still uses it.
func (sh *shard) give(p *Pool, s *slot, r *Receipt, gone []*slot) []*slot {
	sh.countDrop(r.Action, s)
	if !sh.retire(p, s) {
		r.Deferred++
		return gone
	}
	return append(gone, s)
}

// countDrop counts an idle slot as purged or as evicted: evictions are the
// policy's, the rest somebody asked for.
func (sh *shard) countDrop(action Action, s *slot) {
	switch action {
	case ActionRest, ActionSweep, ActionTrim, ActionWorkingSet:
		sh.evicted.enter(s)
	default:
		sh.purged.enter(s)
	}
}

// giveBack empties and releases the buffers, completes the receipt and tells
// the observer.
func (p *Pool) giveBack(r *Receipt, gone []*slot) {
	for _, s := range gone {
		// Released alone, a buffer's pages can stay charged to the process.
		s.buf.SetPurgeable(metal.Empty)
		r.Buffers++
		r.Bytes += s.bytes
		r.PageBytes += s.pages
		if p.charged.discard(s) != nil {
			r.Errors++
		}
	}
	r.After = p.dev.Usage()
	asked := r.Action == ActionPurge || r.Action == ActionTrim
	if p.observer != nil && (asked || r.Buffers+r.Deferred > 0) {
		p.observer.Observe(Event{Kind: EventPurge, Before: r.Before, After: r.After, Receipt: *r})
	}
}

// dropParams empties the parameter pools.
func (p *Pool) dropParams(action Action) Receipt {
	r := Receipt{Action: action, Before: p.dev.Usage()}
	var gone []*slot
	shards := p.shards.lockAll()
	for i := range shards {
		sh := &shards[i]
		for _, kind := range []classKey{keyInt, keyFloat} {
			l := sh.lists[keyOf(paramBytes, uint64(kind))]
			for l != nil && !l.idle.empty() {
				gone = sh.give(p, l.idle.next.s, &r, gone)
			}
		}
	}
	unlockAll(shards)
	p.giveBack(&r, gone)
	return r
}

// Close gives the idle buffers and the pipelines back and ends the pool: Get
// is refused from then on, and buffers given up later go to the device at
// once. The caller first waits for its batches. When buffers are still live
// or pending the error is a *LiveError, joined with what the device refused;
// the pool is closed nevertheless. A second call is an error matching
// ErrClosed.
func (p *Pool) Close() error {
	if p.closed.Swap(true) {
		return fmt.Errorf("close pool: %w", ErrClosed)
	}
	p.batches.poll()
	var errs []error
	if r := purge(p, ActionClose); r.Errors > 0 {
		errs = append(errs, fmt.Errorf("close pool: the device refused %d of %d idle buffers",
			r.Errors, r.Buffers))
	}
	errs = append(errs, p.kernels.release()...)
	if s := p.Stats(); s.Live.Count+s.Pending.Count > 0 {
		errs = append(errs, &LiveError{Live: s.Live, Pending: s.Pending, Survivors: p.Survivors()})
	}
	return errors.Join(errs...)
}
