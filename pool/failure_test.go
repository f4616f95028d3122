package pool_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/gpumem/gpumem/pool"
)

// Whatever the device refuses, the error comes out and no buffer is lost.
func TestWhatTheDeviceRefusesIsAnErrorAndLosesNothing(t *testing.T) {
	t.Parallel()
	for operation, where := range map[string]string{
		"command buffer": "encode", "encoder": "encode", "dispatch": "encode", "end": "encode",
		"write":  "encode",
		"commit": "commit", "release command buffer": "sync", "release buffer": "purge",
		"release pipeline": "close",
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			dev := newFake()
			p := newPool(t, dev, named(t, "neatml"), pool.Options{})
			b := newBatch(t, p, 0)
			h := get(t, p, 100)
			errs := make(map[string]error)
			dev.plant(operation)
			errs["encode"] = b.Encode(noop(pool.Buf(h), pool.Int(1), pool.Float(2)))
			errs["commit"] = b.Commit()
			errs["sync"] = b.Sync()
			_, errs["release"] = h.Release()
			if r := p.Purge(); r.Errors > 0 {
				errs["purge"] = errFake
			}
			checkSums(t, p)
			errs["close"] = p.Close()
			for name, err := range errs {
				if (name == where) != errors.Is(err, errFake) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if s := p.Stats(); s.Reserved().Count != 0 || (s.ReleaseErrors > 0) != (where == "purge") {
				t.Errorf("stats %+v", s)
			}
			if u := dev.Usage(); u.Buffers != 0 {
				t.Errorf("%d buffers left on the device", u.Buffers)
			}
		})
	}
}

func TestARefusedParameterBufferStopsTheCommand(t *testing.T) {
	t.Parallel()
	dev := newFake()
	p := newPool(t, dev, named(t, "neatml"), pool.Options{})
	b := newBatch(t, p, 0)
	dev.refuse = 1
	var oom *pool.OutOfMemoryError
	if err := b.Encode(noop(pool.Int(1))); !errors.As(err, &oom) {
		t.Errorf("encode: %v", err)
	}
	encode(t, b, pool.Int(1))
	if s := b.Stats(); s.Commands != 1 || s.ParamBuffers != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestARefusedReleaseIsReportedWithItsOutcome(t *testing.T) {
	t.Parallel()
	dev := newFake()
	p := newPool(t, dev, named(t, "none"), pool.Options{})
	h := get(t, p, 1)
	dev.plant("release buffer")
	if out, err := h.Release(); out != pool.NotPooled || !errors.Is(err, errFake) {
		t.Errorf("release: %v, %v", out, err)
	}
}

func TestAHeldLockDropsTheBufferAndSaysBusy(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "tensorlogic"), pool.Options{})
	a, b := get(t, p, 1), get(t, p, 1)
	letGo := pool.HoldBusy(p)
	release(t, a, pool.Busy)
	letGo()
	release(t, b, pool.Returned)
	if s := p.Stats(); s.Outcomes[pool.Busy] != 1 || s.Frees != 1 || s.Idle.Count != 1 {
		t.Errorf("stats %+v", s)
	}
	checkSums(t, p)
}

func TestReadingTheStateNeverMakesAReleaseBusy(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "tensorlogic"), pool.Options{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			select {
			case <-stop:
				return
			default:
				p.Stats()
				p.Classes()
				p.Survivors()
			}
		}
	}()
	for range 20_000 {
		release(t, get(t, p, 1), pool.Returned)
	}
	close(stop)
	wg.Wait()
}

func TestAWidePoolKeepsItsLimitOfIdleBytes(t *testing.T) {
	t.Parallel()
	const limit = 16 * fakePage
	policy := pool.Policy{Name: "tight", Class: pool.ClassPages, MaxIdlePerClass: -1, MaxIdleBytes: limit}
	p := newPool(t, newFake(), policy, pool.Options{})
	pool.Widen(p)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var hs []pool.Handle
			for i := range 3000 {
				h, err := p.Get(pool.Request{Elements: uint64(1 + (i+g)%5), ElementSize: fakePage})
				if err != nil {
					t.Error(err)
					return
				}
				if hs = append(hs, h); len(hs) < 10 {
					continue
				}
				for _, h := range hs {
					if _, err := h.Release(); err != nil {
						t.Error(err)
					}
				}
				hs = hs[:0]
				if got := p.Stats().Idle.PageBytes; got > limit {
					t.Errorf("%d B idle", got)
				}
			}
			for _, h := range hs {
				if _, err := h.Release(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	checkSums(t, p)
	// One buffer as large as the limit: all the others make room, wherever
	// they are.
	release(t, get(t, p, limit/4), pool.Returned)
	if s := p.Stats(); s.Idle.Count != 1 || s.Idle.PageBytes != limit {
		t.Errorf("stats %+v", s)
	}
	checkSums(t, p)
}

func TestRatesAreUnknownBeforeTheFirst(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	s := p.Stats()
	if _, ok := s.ReuseRate(); ok {
		t.Error("a reuse rate of nothing")
	}
	if _, ok := s.ReturnRate(); ok {
		t.Error("a return rate of nothing")
	}
	for range 4 {
		release(t, get(t, p, 1), pool.Returned)
	}
	s = p.Stats()
	if rate, ok := s.ReuseRate(); !ok || rate != 0.75 {
		t.Errorf("reuse rate %v", rate)
	}
	if rate, ok := s.ReturnRate(); !ok || rate != 1 {
		t.Errorf("return rate %v", rate)
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	t.Parallel()
	for o, want := range map[pool.Outcome]struct {
		name  string
		final bool
	}{
		pool.NoOutcome: {"none", false}, pool.Returned: {"returned", true}, pool.CapFull: {"cap full", true},
		pool.Busy: {"busy", true}, pool.Shared: {"shared", false}, pool.NotPooled: {"not pooled", true},
		pool.Pending: {"pending", false}, 200: {"unknown", false},
	} {
		if o.String() != want.name || o.Final() != want.final {
			t.Errorf("%d: %q, final %v", o, o, o.Final())
		}
	}
}
