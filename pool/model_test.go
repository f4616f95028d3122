package pool_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/pool"
)

// model is what a pool must look like after a random walk.
type model struct {
	t      *testing.T
	dev    metal.Device
	refuse func() // makes the device refuse the next buffer; may be nil
	async  bool   // the device completes work by itself: flying is not exact
	// command uses the buffer; parameters are part of it.
	command func(pool.Handle) pool.Command
	p       *pool.Pool
	b       *pool.Batch
	rng     *rand.Rand
	held    []pool.Handle        // one element a reference
	weights map[pool.Handle]bool // those that belong to no class
	flying  map[metal.Buffer]bool
}

func (m *model) live() map[pool.Handle]int {
	refs := make(map[pool.Handle]int)
	for _, h := range m.held {
		refs[h]++
	}
	return refs
}

func (m *model) step() {
	switch n := m.rng.IntN(100); {
	case n < 40:
		m.get()
	case n < 50 && len(m.held) > 0:
		h := m.held[m.rng.IntN(len(m.held))]
		c, err := h.Retain()
		must(m.t, err)
		m.held = append(m.held, c)
	case n < 85 && len(m.held) > 0:
		m.release(m.rng.IntN(len(m.held)))
	case n < 93 && len(m.held) > 0:
		h := m.held[m.rng.IntN(len(m.held))]
		flushes := m.b.Stats().Flushes
		must(m.t, m.b.Encode(m.command(h)))
		if m.b.Stats().Flushes > flushes {
			clear(m.flying)
		}
		m.flying[h.Buffer()] = true
	case n < 95:
		must(m.t, m.b.Commit())
	case n < 96:
		must(m.t, m.b.Sync())
		clear(m.flying)
	case n < 97:
		m.purge()
	case n < 98:
		m.p.Trim()
	}
}

func (m *model) get() {
	r := pool.Request{
		Elements: 1 + m.rng.Uint64N(5000), ElementSize: 1 << m.rng.UintN(4),
		Unpooled: m.rng.IntN(20) == 0, Label: "walk",
	}
	if m.refuse != nil && m.rng.IntN(30) == 0 {
		m.refuse() // only once: the pool can still help itself
	}
	idle := m.p.Stats().Idle.Count
	h, err := m.p.Get(r)
	if errors.Is(err, metal.ErrOutOfMemory) {
		if idle > 0 && m.p.Stats().Idle.Count > 0 {
			m.t.Fatalf("out of memory with idle buffers: %v", err)
		}
		return
	}
	must(m.t, err)
	if m.live()[h] > 0 {
		m.t.Fatal("a live handle was handed out again")
	}
	for other := range m.live() {
		if other.Buffer() == h.Buffer() {
			m.t.Fatal("a live buffer was handed out again")
		}
	}
	if !m.async && m.flying[h.Buffer()] && !m.p.Policy().EarlyReturn {
		m.t.Fatal("a buffer in use by a command was handed out")
	}
	m.held = append(m.held, h)
	m.weights[h] = r.Unpooled
}

// release checks that the outcome really happened.
func (m *model) release(i int) {
	h := m.held[i]
	m.held = append(m.held[:i], m.held[i+1:]...)
	refs := h.Refs()
	before := m.p.Stats()
	out, err := h.Release()
	must(m.t, err)
	after := m.p.Stats()
	if after.Outcomes[out] != before.Outcomes[out]+1 {
		m.t.Fatalf("%v is not counted", out)
	}
	freed := after.Frees - before.Frees - (after.Evicted.Count - before.Evicted.Count)
	ok := false
	switch out {
	case pool.Shared:
		ok = refs > 1 && h.Refs() == refs-1 && after.Live == before.Live
	case pool.Pending:
		ok = refs == 1 && after.Pending.Count == before.Pending.Count+1
	case pool.Returned:
		ok = refs == 1 && after.Idle.Count == before.Idle.Count+1-(after.Evicted.Count-before.Evicted.Count)
	case pool.CapFull, pool.NotPooled:
		ok = refs == 1 && freed == 1
	}
	if !ok {
		m.t.Fatalf("outcome %v of %d references: before %+v, after %+v", out, refs, before, after)
	}
}

func (m *model) purge() {
	idle := m.p.Stats().Idle.Count
	r := m.p.Purge()
	if r.Buffers+r.Deferred < idle || m.p.Stats().Idle.Count != 0 {
		m.t.Fatalf("%d idle, receipt %+v", idle, r)
	}
}

func (m *model) check() {
	s, live := m.p.Stats(), m.live()
	checkSums(m.t, m.p)
	if s.Live.Count != uint64(len(live)) || s.Refs != uint64(len(m.held)) {
		m.t.Fatalf("%d live, %d refs; the model has %d, %d", s.Live.Count, s.Refs, len(live), len(m.held))
	}
	var requested uint64
	for h, refs := range live {
		if h.Refs() != refs {
			m.t.Fatalf("%d references, the model has %d", h.Refs(), refs)
		}
		requested += h.Length()
	}
	if requested != s.RequestedBytes {
		m.t.Fatalf("%d B requested, the model has %d", s.RequestedBytes, requested)
	}
	if s.Hazards > 0 && !m.p.Policy().EarlyReturn {
		m.t.Fatalf("%d hazards", s.Hazards)
	}
	if m.rng.IntN(20) == 0 {
		m.checkClasses(s)
	}
}

func (m *model) checkClasses(s pool.Stats) {
	var classes struct{ live, pending, idle uint64 }
	for _, c := range m.p.Classes() {
		classes.live += c.Live
		classes.pending += c.Pending
		classes.idle += c.Idle
		if c.MaxIdle >= 0 && c.Idle > uint64(c.MaxIdle) {
			m.t.Fatalf("class over its cap: %+v", c)
		}
	}
	var live uint64
	for h := range m.live() {
		if !m.weights[h] {
			live++
		}
	}
	if classes.idle != s.Idle.Count || classes.live != live || classes.pending > s.Pending.Count {
		m.t.Fatalf("classes %+v, %d of them live, stats %+v", classes, live, s)
	}
}

func (m *model) finish() {
	must(m.t, m.b.Close())
	for len(m.held) > 0 {
		m.release(len(m.held) - 1)
	}
	m.check()
	must(m.t, m.p.Close())
	if u := m.dev.Usage(); u.Buffers != 0 || u.AllocatedBytes != 0 || u.Pipelines != 0 {
		m.t.Fatalf("left on the device: %+v", u)
	}
}

// walk takes so many random steps over a new pool and closes everything.
func walk(t *testing.T, m *model, policy pool.Policy, seed uint64, steps int) {
	t.Helper()
	if policy.TrimAfter > 0 {
		policy.TrimAfter = 50
	}
	m.t, m.p = t, newPool(t, m.dev, policy, pool.Options{})
	if seed%2 == 1 {
		pool.Widen(m.p)
	}
	q, err := m.dev.NewQueue(0)
	must(t, err)
	m.b, err = pool.NewBatch(m.p, q, 10)
	must(t, err)
	m.rng, m.flying = rand.New(rand.NewPCG(seed, 7)), make(map[metal.Buffer]bool)
	m.weights = make(map[pool.Handle]bool)
	for range steps {
		m.step()
		m.check()
	}
	m.finish()
	must(t, q.Release())
}

func TestARandomWalkKeepsThePromises(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		for seed := range uint64(4) {
			dev := newFake()
			dev.info.RecommendedWorkingSet = 400 * fakePage
			walk(t, &model{
				dev: dev,
				refuse: func() {
					dev.mu.Lock()
					defer dev.mu.Unlock()
					dev.refuse = 1
				},
				command: func(h pool.Handle) pool.Command {
					return noop(pool.Buf(h), pool.Int(1), pool.Float(2))
				},
			}, policy, seed, 1500)
		}
	})
}
