package pool

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/gpumem/gpumem/metal"
)

// Options are what New may be told beside the policy. The zero value records
// no sites and tells nobody.
type Options struct {
	// Sites records where each buffer was asked for: the first frame outside
	// package pool and outside SkipPackages. It makes Get slower.
	Sites bool
	// SkipPackages are import paths, with all below them, whose frames are
	// passed over: the layers between the program and the pool.
	SkipPackages []string
	// Observer is told of each step, when set.
	Observer Observer
}

// Pool hands out reference-counted buffers of one device and keeps given-up
// ones for reuse, as its policy says. It is safe for concurrent use.
type Pool struct {
	dev      metal.Device
	info     metal.Info
	policy   Policy
	observer Observer
	sites    *sites // nil when not recorded

	pageShift uint
	shards    shards
	room      room   // for idle buffers
	charged   charge // by the device
	batches   batches
	kernels   kernels
	hazards   hazards

	restWanted atomic.Bool
	mostIdle   atomic.Int64 // buffers that a class keeps, see LimitIdle
	// busy is the lock of policies that drop when it is held: held by Get
	// and Release only, so that reading Stats never changes an outcome.
	busy   sync.Mutex
	closed atomic.Bool
	useIDs atomic.Uint64

	mu      sync.Mutex // guards what follows
	peaks   Stats      // its high-water marks only
	emptied []Survivor // what was idle before it was given back; nil without sites
	// mostEmptied is how many bytes emptied has, of pages.
	mostEmptied uint64
}

// New makes an empty pool over dev. The device stays the caller's; the pool
// is closed before it.
func New(dev metal.Device, policy Policy, opts Options) (*Pool, error) {
	if dev == nil {
		return nil, fmt.Errorf("new pool: no device: %w", ErrRequest)
	}
	if err := policy.Validate(); err != nil {
		return nil, fmt.Errorf("new pool: %w", err)
	}
	p := &Pool{dev: dev, info: dev.Info(), policy: policy, observer: opts.Observer}
	p.pageShift = uint(bits.Len64(max(p.info.PageSize, 1)) - 1)
	p.shards.init(shardCount(policy))
	p.mostIdle.Store(int64(policy.MaxIdlePerClass))
	p.room.init(policy, p.info.RecommendedWorkingSet, len(p.shards.all))
	if opts.Sites {
		p.sites = newSites(opts.SkipPackages)
	}
	return p, nil
}

// Policy returns the policy the pool was made with.
func (p *Pool) Policy() Policy { return p.policy }

// Device returns the device the pool was made over.
func (p *Pool) Device() metal.Device { return p.dev }

// Request asks for a buffer of Elements x ElementSize bytes.
type Request struct {
	Elements    uint64
	ElementSize uint64 // bytes: 2 for f16, 4 for f32
	Label       string
	// Unpooled asks for a buffer of exactly that length that is not kept
	// when it is given up: the place for weights.
	Unpooled bool
	// Data says that the contents are given along; see Policy.DataAnew.
	Data bool
}

// Get hands out a buffer of at least the requested bytes, with one reference.
// Its contents are undefined. A request of no bytes or of absurdly many is an
// error matching ErrRequest; one that the device refuses, also after the pool
// gave its idle buffers back, is an *OutOfMemoryError.
func (p *Pool) Get(r Request) (Handle, error) {
	key, length, err := p.classify(r)
	if err != nil {
		return Handle{}, err
	}
	return p.get(&grant{key: key, length: length, elem: elementOf(r.ElementSize), label: r.Label,
		unpooled: r.Unpooled, anew: r.Data && p.policy.DataAnew})
}

// elementOf is an element's size as a slot keeps it.
func elementOf(size uint64) uint8 {
	if size > math.MaxUint8 {
		return 0
	}
	return uint8(size)
}

// getParam hands out a parameter buffer.
func (p *Pool) getParam(kind classKey, label string) (Handle, error) {
	return p.get(&grant{key: keyOf(paramBytes, uint64(kind)), length: paramBytes,
		elem: paramBytes, label: label})
}

// grant is a request on its way.
type grant struct {
	key      classKey
	length   uint64
	elem     uint8 // bytes of an element; 0 is not told
	label    string
	site     *site
	unpooled bool
	anew     bool    // no idle buffer may serve it
	hit      bool    // set when an idle buffer served it
	hazard   *Hazard // set when that buffer is still in use
}

// get is Get once the class is known. A pointer, as copying what was only just
// written makes the processor wait.
func (p *Pool) get(g *grant) (Handle, error) {
	if p.closed.Load() {
		return Handle{}, wrapGet(g, ErrClosed)
	}
	if p.sites != nil {
		g.site = p.sites.caller()
	}
	if p.observer != nil {
		return observed{p}.get(g)
	}
	return p.grant(g)
}

// grant serves a request from an idle buffer or the device.
func (p *Pool) grant(g *grant) (Handle, error) {
	sh := p.shards.at()
	if g.unpooled || g.anew {
		return p.make(sh, g)
	}
	if h := p.take(sh, g); h.s != nil {
		return h, nil
	}
	if h := p.takeElsewhere(sh, g); h.s != nil {
		return h, nil
	}
	return p.make(sh, g)
}

// take serves the request from sh. It also evicts an idle buffer that got too
// old: at most one a Get, to bound the delay.
func (p *Pool) take(sh *shard, g *grant) (h Handle) {
	if p.policy.DropWhenBusy {
		p.busy.Lock()
	}
	if !sh.mu.TryLock() { // sh.lock, which the compiler does not inline
		sh.wait(p)
	}
	if s := p.pick(sh, g.key); s != nil {
		sh.leaveIdle(s)
		sh.shareRoom(p)
		h = p.hit(sh, s, g)
	}
	var aged *slot
	if after := p.policy.TrimAfter; after > 0 && !sh.age.empty() {
		if s := sh.age.next.s; sh.clock()-s.idleSince > after {
			aged = sh.evict(p, s)
		}
	}
	sh.mu.Unlock()
	if p.policy.DropWhenBusy {
		p.busy.Unlock()
	}
	if aged != nil {
		p.evict(aged)
	}
	return h
}

// pick chooses the idle buffer of sh that serves the class.
func (p *Pool) pick(sh *shard, key classKey) *slot {
	if !p.policy.BestFit {
		return sh.listOf(p, key).next()
	}
	for _, l := range sh.sorted {
		if l.idles > 0 && l.key >= key && l.key&0xff == key&0xff {
			return l.next()
		}
	}
	return nil
}

// hit hands out a slot that just left sh's idle ones.
func (p *Pool) hit(sh *shard, s *slot, g *grant) Handle {
	if s.uses > 0 {
		sh.hazards++
		p.hazards.note(s, g)
	}
	h := s.open(g.length)
	s.label, s.site, s.elem = g.label, g.site, g.elem
	sh.enterLive(s)
	sh.hits++
	s.list.hits++
	g.hit = true
	return h
}

// takeElsewhere is the way of a request that its shard cannot serve: look
// whether the device is done with something, then at the other shards. The
// buffer moves to the shard that asked for it.
func (p *Pool) takeElsewhere(sh *shard, g *grant) Handle {
	if p.batches.poll() {
		if h := p.take(sh, g); h.s != nil {
			return h
		}
	}
	for i := range p.shards.width.Load() {
		other := &p.shards.all[i]
		if other == sh {
			continue
		}
		other.lock(p)
		s := p.pick(other, g.key)
		if s != nil {
			other.leaveIdle(s)
			other.shareRoom(p)
			other.disown(s)
			s.home.Store(sh)
		}
		other.mu.Unlock()
		if s == nil {
			continue
		}
		sh.lock(p)
		sh.adopt(s, sh.listOf(p, g.key))
		h := p.hit(sh, s, g)
		sh.mu.Unlock()
		return h
	}
	return Handle{}
}

// make serves the request with a new buffer of the device.
func (p *Pool) make(sh *shard, g *grant) (Handle, error) {
	bytes := uint64(g.key) >> 8
	p.fitWorkingSet(bytes)
	buf, err := p.dev.NewBuffer(bytes, g.label)
	if err != nil && errors.Is(err, metal.ErrOutOfMemory) {
		buf, err = p.retry(g, bytes, err)
	}
	if err != nil {
		return Handle{}, wrapGet(g, err)
	}
	s := &slot{pool: p, buf: buf, key: g.key, bytes: bytes, pages: buf.AllocatedSize(), pooled: !g.unpooled}
	s.label, s.site, s.elem = g.label, g.site, g.elem
	s.byClass.s, s.byAge.s, s.member.s = s, s, s
	h := s.open(g.length)
	p.charged.made(s)

	sh.lock(p)
	if g.unpooled {
		sh.unpooled++
		sh.adopt(s, nil)
	} else {
		l := sh.listOf(p, g.key)
		sh.misses++
		l.misses++
		sh.adopt(s, l)
	}
	sh.enterLive(s)
	sh.mu.Unlock()
	return h, nil
}

func wrapGet(g *grant, err error) error {
	var oom *OutOfMemoryError
	if errors.As(err, &oom) {
		return err
	}
	return fmt.Errorf("get %q: %w", g.label, err)
}

// retry gives every idle buffer back after the device refused once, and asks
// again.
func (p *Pool) retry(g *grant, bytes uint64, refused error) (metal.Buffer, error) {
	p.batches.poll()
	before := p.Stats()
	if purge(p, ActionOutOfMemory).Buffers > 0 {
		buf, err := p.dev.NewBuffer(bytes, g.label)
		if err == nil || !errors.Is(err, metal.ErrOutOfMemory) {
			return buf, err
		}
		refused = err
	}
	return nil, &OutOfMemoryError{
		RequestedBytes: g.length,
		LiveBytes:      before.Live.PageBytes,
		PendingBytes:   before.Pending.PageBytes,
		IdleBytes:      before.Idle.PageBytes,
		LimitBytes:     p.info.RecommendedWorkingSet,
		Label:          g.label,
		Err:            refused,
	}
}
