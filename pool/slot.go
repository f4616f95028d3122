package pool

import (
	"sync/atomic"

	"github.com/gpumem/gpumem/metal"
)

// maxRefs bounds the references to one buffer: a program that gets there leaks
// them.
const maxRefs = 1 << 28

// where says which of the three states a slot is in.
type where uint8

const (
	isLive where = iota
	isPending
	isIdle
	isGone // given back to the device
)

// slot is one buffer of the device while the pool has it.
type slot struct {
	pool   *Pool
	buf    metal.Buffer
	key    classKey
	bytes  uint64 // length of buf
	pages  uint64 // what the device charges
	pooled bool

	// home is the shard whose lock guards the fields below. It changes only
	// while the slot is idle, under the locks of both shards in turn.
	home atomic.Pointer[shard]

	// gen counts how often the last reference was given up; a handle of another
	// generation is stale.
	gen       uint64
	refs      int   // of this generation
	list      *list // of its class in home; nil when not pooled
	state     where
	elem      uint8  // bytes of an element; 0 is not told
	doomed    bool   // pending, and to be dropped when it settles
	uses      int    // command buffers that use it and have not completed
	lastUse   uint64 // id of the last of them
	requested uint64
	label     string
	site      *site
	idleSince uint64 // home's clock when it became idle

	byClass link // idle buffers of one class, oldest first
	byAge   link // idle buffers of one shard, oldest first
	member  link // all buffers of one shard
}

// open returns the first handle of a generation. The caller owns the slot.
func (s *slot) open(requested uint64) Handle {
	s.requested = requested
	s.refs = 1
	return Handle{s: s, gen: s.gen, length: requested}
}

// count is the number of references, 0 when the handle is stale. Its home is
// locked.
func (h Handle) count() int {
	if h.s.gen != h.gen {
		return 0
	}
	return h.s.refs
}

func (h Handle) retain() error {
	if h.s == nil {
		return ErrNoHandle
	}
	sh := h.s.lockHome()
	defer sh.mu.Unlock()
	switch h.count() {
	case 0:
		return ErrStale
	case maxRefs:
		return ErrRefs
	}
	h.s.refs++
	sh.extra++
	return nil
}

// unref gives one reference up and returns how many there were; with the last
// one every copy of the handle is stale. sh is the slot's home, and locked.
func (h Handle) unref(sh *shard) int {
	refs := h.count()
	switch {
	case refs > 1:
		h.s.refs--
		sh.extra--
		sh.outcomes[Shared]++
	case refs == 1:
		h.s.refs = 0
		h.s.gen++
	}
	return refs
}

// link is an element of a ring; a ring's head has no slot.
type link struct {
	prev, next *link
	s          *slot
}

func (l *link) init() { l.prev, l.next = l, l }

func (l *link) empty() bool { return l.next == l }

// push puts e at the end of the ring.
func (l *link) push(e *link) {
	e.prev, e.next = l.prev, l
	l.prev.next = e
	l.prev = e
}

func (l *link) remove() {
	l.prev.next = l.next
	l.next.prev = l.prev
	l.prev, l.next = nil, nil
}

// list is a size class within one shard.
type list struct {
	key     classKey
	fifo    bool // oldest first, else newest first
	maxIdle int  // -1 no limit
	idle    link

	held, pendings, idles       uint64 // held are all, also the live ones
	hits, misses, kept, dropped uint64
}

func (l *list) live() uint64 { return l.held - l.pendings - l.idles }

func (l *list) empty() bool { return l.held == 0 }

// next is the idle slot to hand out, nil when there is none.
func (l *list) next() *slot {
	if l.idle.empty() {
		return nil
	}
	if l.fifo {
		return l.idle.next.s
	}
	return l.idle.prev.s
}
