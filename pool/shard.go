package pool

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// maxClasses bounds the class records of a shard. A program whose shapes
// never repeat would otherwise grow the pool's own memory without end; empty
// classes go first, and only their ClassStats are lost.
const maxClasses = 4096

// contentionToWiden is how often a shard's lock must have been found held
// before the pool uses more shards: enough that a sampler calling Stats does
// not widen the pool of a program with one goroutine.
const contentionToWiden = 256

// shard is a part of the pool with its own lock. A buffer belongs to the
// shard that handed it out, its home, and returns there, so that a shard's
// counts add up by themselves.
type shard struct {
	mu    sync.Mutex
	lists map[classKey]*list
	last  *list // of the latest Get, to spare the map
	// sorted are the lists by key; kept only for policies that fit best.
	sorted []*list
	age    link // all idle slots, oldest first
	all    link // all slots
	// quota is how many bytes of idle pages this shard may have, when
	// limited.
	quota uint64
	counts

	// forgetAt is the number of classes at which empty ones are forgotten.
	forgetAt int

	contended atomic.Uint32
	_         [64]byte // keeps occupied off the lines that every Get writes
	// occupied is whether anything is live or pending here; kept only for
	// policies that trim at rest.
	occupied atomic.Bool
	_        [64]byte // keeps the next shard's lock off this line
}

// counts are a shard's share of Stats.
type counts struct {
	held, pending, idle             Amount // held are all, also the live ones
	requested                       uint64
	extra                           uint64 // references to live slots beyond the first of each
	hits, misses, unpooled          uint64
	outcomes                        [outcomes]uint64
	evicted, purged                 Amount
	hazards                         uint64
	peakLive, peakIdle, peakPending uint64
	peakLiveCount                   uint64
}

// live is what is neither pending nor idle. It is not counted by itself, so
// that a hit moves one count and not two.
func (c *counts) live() Amount { return c.held.sub(c.pending).sub(c.idle) }

// inUse is how many slots are live or pending.
func (c *counts) inUse() uint64 { return c.held.Count - c.idle.Count }

// clock counts the pooled buffers handed out: the age of idle ones.
func (c *counts) clock() uint64 { return c.hits + c.misses }

func (sh *shard) init() {
	sh.lists = make(map[classKey]*list)
	sh.forgetAt = maxClasses
	sh.age.init()
	sh.all.init()
}

// lock takes the shard's lock and counts how often it was held.
func (sh *shard) lock(p *Pool) {
	if !sh.mu.TryLock() {
		sh.wait(p)
	}
}

// wait is lock's way when somebody holds the lock.
func (sh *shard) wait(p *Pool) {
	if sh.contended.Add(1)%contentionToWiden == 0 {
		p.shards.widen()
	}
	sh.mu.Lock()
}

// lockHome locks the slot's home. A slot that is idle can move while the
// caller waits, so the home is read again under the lock.
func (s *slot) lockHome() *shard {
	for {
		sh := s.home.Load()
		if !sh.mu.TryLock() { // sh.lock, which the compiler does not inline
			sh.wait(s.pool)
		}
		if s.home.Load() == sh {
			return sh
		}
		sh.mu.Unlock()
	}
}

// listOf returns the shard's class record, making it when it is new.
func (sh *shard) listOf(p *Pool, key classKey) *list {
	if sh.last == nil || sh.last.key != key {
		sh.last = sh.findList(p, key)
	}
	return sh.last
}

func (sh *shard) findList(p *Pool, key classKey) *list {
	l := sh.lists[key]
	if l == nil {
		if len(sh.lists) >= sh.forgetAt {
			sh.forgetEmpty()
		}
		l = &list{key: key, maxIdle: int(p.mostIdle.Load())}
		if key&0xff >= keyInt {
			l.fifo, l.maxIdle = true, p.policy.MaxParams
		}
		l.idle.init()
		sh.lists[key] = l
		if p.policy.BestFit {
			i, _ := slices.BinarySearchFunc(sh.sorted, key, byKey)
			sh.sorted = slices.Insert(sh.sorted, i, l)
		}
	}
	return l
}

func byKey(l *list, key classKey) int { return cmp.Compare(l.key, key) }

func (sh *shard) forgetEmpty() {
	for key, l := range sh.lists {
		if l.empty() {
			delete(sh.lists, key)
		}
	}
	sh.last = nil
	sh.sorted = slices.DeleteFunc(sh.sorted, (*list).empty)
	sh.forgetAt = max(maxClasses, 2*len(sh.lists))
}

// adopt makes the shard the home of a slot that is in no state.
func (sh *shard) adopt(s *slot, l *list) {
	s.home.Store(sh)
	s.list = l
	sh.all.push(&s.member)
	sh.held.enter(s)
	if l != nil {
		l.held++
	}
}

// disown is the opposite of adopt.
func (sh *shard) disown(s *slot) {
	s.member.remove()
	sh.held.leave(s)
	if s.list != nil {
		s.list.held--
	}
}

func (sh *shard) enterLive(s *slot) {
	if s.pool.policy.TrimAtRest && sh.inUse() == 1 { // s alone
		sh.occupied.Store(true)
	}
	s.state = isLive
	sh.requested += s.requested
	live := sh.live()
	sh.peakLive = max(sh.peakLive, live.Bytes)
	sh.peakLiveCount = max(sh.peakLiveCount, live.Count)
}

func (sh *shard) leaveLive(s *slot) { sh.requested -= s.requested }

func (sh *shard) enterPending(s *slot) {
	s.state = isPending
	sh.pending.enter(s)
	sh.peakPending = max(sh.peakPending, sh.pending.Bytes)
	if s.list != nil {
		s.list.pendings++
	}
}

func (sh *shard) leavePending(s *slot) {
	sh.pending.leave(s)
	if s.list != nil {
		s.list.pendings--
	}
}

func (sh *shard) enterIdle(s *slot) {
	s.state = isIdle
	s.idleSince = sh.clock()
	s.list.idle.push(&s.byClass)
	sh.age.push(&s.byAge)
	s.list.idles++
	sh.idle.enter(s)
	sh.peakIdle = max(sh.peakIdle, sh.idle.Bytes)
}

func (sh *shard) leaveIdle(s *slot) {
	s.byClass.remove()
	s.byAge.remove()
	s.list.idles--
	sh.idle.leave(s)
}

// forget takes the slot out of the shard for good; the caller gives its
// buffer back once the lock is released.
func (sh *shard) forget(s *slot) {
	s.state = isGone
	sh.disown(s)
	if s.list != nil {
		s.list.dropped++
	}
}

// retire drops an idle slot. One that a command still uses (early return)
// becomes pending first, and is dropped when it settles; then the result is
// false.
func (sh *shard) retire(p *Pool, s *slot) bool {
	sh.leaveIdle(s)
	sh.shareRoom(p)
	if s.uses > 0 {
		s.doomed = true
		sh.enterPending(s)
		return false
	}
	sh.forget(s)
	return true
}
