package pool_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gpumem/gpumem/pool"
)

// Many goroutines with buffers of their own, buffers that they share, batches
// and purges: nothing is lost, and the race detector finds nothing.
func TestManyGoroutinesKeepThePromises(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		dev := newFake()
		w := &watcher{}
		p := newPool(t, dev, policy, pool.Options{Sites: true, Observer: w})
		w.pool.Store(p)
		common := get(t, p, 77)
		var wg sync.WaitGroup
		for g := range 2 * max(2, runtime.GOMAXPROCS(0)) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				walkConcurrently(t, p, common, rand.New(rand.NewPCG(uint64(g), 9)))
			}()
		}
		wg.Wait()
		if common.Refs() != 1 {
			t.Errorf("%d references to the common buffer", common.Refs())
		}
		if _, err := common.Release(); err != nil {
			t.Error(err)
		}
		s := p.Stats()
		if s.Live.Count != 0 || s.Pending.Count != 0 || s.Refs != 0 {
			t.Errorf("stats %+v", s)
		}
		checkSums(t, p)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// watcher reads the pool's state from inside Observe, as a console does.
type watcher struct {
	pool atomic.Pointer[pool.Pool]
	seen atomic.Uint64
}

func (w *watcher) Observe(pool.Event) {
	if w.seen.Add(1)%64 == 0 {
		w.pool.Load().Stats()
		w.pool.Load().Survivors()
	}
}

func walkConcurrently(t *testing.T, p *pool.Pool, common pool.Handle, rng *rand.Rand) {
	q, err := p.Device().NewQueue(0)
	if err != nil {
		t.Error(err)
		return
	}
	b, err := pool.NewBatch(p, q, 5)
	if err != nil {
		t.Error(err)
		return
	}
	var held []pool.Handle
	for range 300 {
		h, err := p.Get(pool.Request{Elements: 1 + rng.Uint64N(3000), ElementSize: 4, Label: "walk"})
		if err != nil {
			t.Error(err)
			return
		}
		c, err := common.Retain()
		if err == nil {
			err = b.Encode(noop(pool.Buf(h), pool.Buf(c), pool.Int(3)))
		}
		held = append(held, h, c)
		for err == nil && len(held) > 6 {
			_, err = held[0].Release()
			held = held[1:]
		}
		switch rng.IntN(20) {
		case 0:
			p.Purge()
		case 1:
			p.Survivors()
		case 2:
			p.Classes()
		case 3:
			p.Stats()
			b.Stats()
		case 4:
			p.Trim()
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
	for _, h := range held {
		if _, err := h.Release(); err != nil {
			t.Error(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// Goroutines that contend make the pool use several shards; what one gave up
// is then still found by another.
func TestAWidePoolFindsWhatOtherGoroutinesGaveUp(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	if n := pool.Widen(p); n < 4 {
		t.Fatalf("%d shards", n)
	}
	weight := get(t, p, 1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20_000 {
				h, err := p.Get(pool.Request{Elements: 100, ElementSize: 4})
				if err == nil {
					_, err = h.Release()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	s := p.Stats()
	if s.Idle.Count == 0 || s.Idle.Count > 8 || s.Hits+s.Misses != 160_001 || s.Misses != s.Allocs {
		t.Fatalf("stats %+v", s)
	}
	// All of them are reachable from one goroutine.
	var hs []pool.Handle
	for range s.Idle.Count {
		hs = append(hs, get(t, p, 100))
	}
	after := p.Stats()
	if after.Misses != s.Misses || after.Idle.Count != 0 {
		t.Errorf("idle buffers were not found: %+v", after)
	}
	var survivors uint64
	for _, v := range p.Survivors() {
		survivors += v.Count
	}
	if survivors != after.Live.Count {
		t.Errorf("%d survivors, %d live", survivors, after.Live.Count)
	}
	for _, h := range append(hs, weight) {
		release(t, h, pool.Returned)
	}
	checkSums(t, p)
}

// The rest is found also when buffers of many goroutines are given up by one.
func TestAWidePoolTrimsAtRest(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	pool.Widen(p)
	for range 3 {
		var wg sync.WaitGroup
		parts := make([][]pool.Handle, 8)
		for g := range parts {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range 2000 {
					h, err := p.Get(pool.Request{Elements: 100_000, ElementSize: 4})
					if err != nil {
						t.Error(err)
						return
					}
					if i%10 == 0 {
						parts[g] = append(parts[g], h)
					} else if _, err := h.Release(); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
		wg.Wait()
		for _, part := range parts {
			for _, h := range part {
				release(t, h, pool.Returned)
			}
		}
		if s := p.Stats(); s.Idle.PageBytes > 1<<20 || s.Live.Count != 0 {
			t.Errorf("%d B idle at rest", s.Idle.PageBytes)
		}
		checkSums(t, p)
	}
}

func TestADoubleReleaseByManyIsNoticedOnce(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		p := newPool(t, newFake(), policy, pool.Options{})
		for range 200 {
			h := get(t, p, 100)
			var wg sync.WaitGroup
			errs := make([]error, 4)
			for i := range errs {
				wg.Add(1)
				go func() {
					defer wg.Done()
					_, errs[i] = h.Release()
				}()
			}
			wg.Wait()
			stale := 0
			for _, err := range errs {
				if errors.Is(err, pool.ErrStale) {
					stale++
				}
			}
			if stale != len(errs)-1 {
				t.Fatalf("%d of %d releases were stale", stale, len(errs))
			}
		}
		checkSums(t, p)
	})
}
