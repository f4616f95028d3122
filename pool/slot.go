package pool

import (
	"sync/atomic"

	"github.com/gpumem/gpumem/metal"
)

// The word of a slot holds its generation above the number of references
// beyond the first, so that one compare-and-swap both counts and detects stale
// handles. Who gives the last reference up starts the next generation: no
// handle has it before the slot is handed out anew, which so needs no store.
const (
	refBits   = 28
	extraRefs = 1<<refBits - 1
	// The generation wraps after 2^36 releases of one buffer; a handle that
	// stale is taken for a fresh one.
	genMask = 1<<(64-refBits) - 1
)

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

	word atomic.Uint64
	// home is the shard whose lock guards the fields below. It changes only
	// while the slot is idle, under the locks of both shards in turn.
	home atomic.Pointer[shard]

	list      *list // of its class in home; nil when not pooled
	state     where
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

func (s *slot) refs(gen uint64) int {
	w := s.word.Load()
	if w>>refBits != gen {
		return 0
	}
	return int(w&extraRefs) + 1
}

// open returns the first handle of a generation. The caller owns the slot.
func (s *slot) open(requested uint64) Handle {
	s.requested = requested
	return Handle{s: s, gen: s.word.Load() >> refBits, length: requested}
}

func (h Handle) retain() error {
	if h.s == nil {
		return ErrNoHandle
	}
	for {
		w := h.s.word.Load()
		switch {
		case w>>refBits != h.gen:
			return ErrStale
		case w&extraRefs == extraRefs:
			return ErrRefs
		}
		if h.s.word.CompareAndSwap(w, w+1) {
			h.s.home.Load().retains.Add(1)
			return nil
		}
	}
}

// unref gives one reference up and returns how many there were.
func (h Handle) unref() (int, error) {
	for {
		w := h.s.word.Load()
		if w>>refBits != h.gen {
			return 0, ErrStale
		}
		extra, next := w&extraRefs, w-1
		if extra == 0 {
			next = ((h.gen + 1) & genMask) << refBits
		}
		if h.s.word.CompareAndSwap(w, next) {
			return int(extra) + 1, nil
		}
	}
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
