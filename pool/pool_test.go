package pool_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/pool"
)

func newPool(t *testing.T, dev metal.Device, policy pool.Policy, opts pool.Options) *pool.Pool {
	t.Helper()
	p, err := pool.New(dev, policy, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func named(t testing.TB, name string) pool.Policy {
	t.Helper()
	policy, err := pool.PolicyByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func get(t testing.TB, p *pool.Pool, elements uint64) pool.Handle {
	t.Helper()
	h, err := p.Get(pool.Request{Elements: elements, ElementSize: 4, Label: "tensor"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func release(t testing.TB, h pool.Handle, want pool.Outcome) {
	t.Helper()
	got, err := h.Release()
	if err != nil || got != want {
		t.Fatalf("release: %v, %v, want %v", got, err, want)
	}
}

// checkSums is the promise of the package: the three states add up to what
// the device charges.
func checkSums(t testing.TB, p *pool.Pool) {
	t.Helper()
	s, u := p.Stats(), p.Device().Usage()
	if got := s.Reserved(); got.PageBytes != uint64(u.AllocatedBytes) || got.Count != uint64(u.Buffers) {
		t.Fatalf("live %+v + pending %+v + idle %+v, device %+v", s.Live, s.Pending, s.Idle, u)
	}
	if err := pool.CheckRoom(p); err != nil {
		t.Fatal(err)
	}
	if s.Allocs-s.Frees != s.Reserved().Count {
		t.Fatalf("%d allocs, %d frees, %d reserved", s.Allocs, s.Frees, s.Reserved().Count)
	}
}

// eachPolicy runs a test over every known policy.
func eachPolicy(t *testing.T, f func(t *testing.T, policy pool.Policy)) {
	for _, policy := range pool.Policies() {
		t.Run(policy.Name, func(t *testing.T) {
			t.Parallel()
			f(t, policy)
		})
	}
}

func TestEveryPolicyHandsOutWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		p := newPool(t, newFake(), policy, pool.Options{})
		for _, elements := range []uint64{1, 3, 1024, 1025, 4097, 70_000, 8 << 20, 8<<20 + 1} {
			h := get(t, p, elements)
			if h.Length() != elements*4 || h.Refs() != 1 {
				t.Errorf("%d elements: length %d, refs %d", elements, h.Length(), h.Refs())
			}
			if got := h.Buffer().Length(); got < elements*4 {
				t.Errorf("%d elements: buffer of %d B", elements, got)
			}
			if s := p.Stats(); s.RequestedBytes != elements*4 || s.Live.Count != 1 || s.Refs != 1 {
				t.Errorf("%d elements: stats %+v", elements, s)
			}
			checkSums(t, p)
			if _, err := h.Release(); err != nil {
				t.Fatal(err)
			}
			checkSums(t, p)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if u := p.Device().Usage(); u.Buffers != 0 || u.AllocatedBytes != 0 {
			t.Errorf("after close the device has %+v", u)
		}
	})
}

func TestEveryPolicyCountsReferencesAndCopiesNothing(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		p := newPool(t, newFake(), policy, pool.Options{})
		h := get(t, p, 100)
		c, err := h.Retain()
		if err != nil || c != h || c.Buffer() != h.Buffer() {
			t.Fatalf("retain: %v, %v", c, err)
		}
		if s := p.Stats(); h.Refs() != 2 || s.Refs != 2 || s.Live.Count != 1 || s.Allocs != 1 {
			t.Errorf("after retain: refs %d, %+v", h.Refs(), s)
		}
		release(t, c, pool.Shared)
		if s := p.Stats(); s.Refs != 1 || s.Live.Count != 1 || s.Outcomes[pool.Shared] != 1 {
			t.Errorf("after the first release: %+v", s)
		}
		if _, err := h.Release(); err != nil {
			t.Fatal(err)
		}
		if s := p.Stats(); s.Refs != 0 || s.Live != (pool.Amount{}) {
			t.Errorf("after the last release: %+v", s)
		}
	})
}

func TestEveryPolicyRefusesStaleHandles(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		p := newPool(t, newFake(), policy, pool.Options{})
		h := get(t, p, 100)
		if _, err := h.Release(); err != nil {
			t.Fatal(err)
		}
		again := get(t, p, 100) // the same buffer, where the policy keeps any
		for what, err := range map[string]error{
			"release": second(h.Release()),
			"retain":  second(h.Retain()),
		} {
			if !errors.Is(err, pool.ErrStale) {
				t.Errorf("%s of a stale handle: %v", what, err)
			}
		}
		if h.Buffer() != nil || h.Refs() != 0 {
			t.Errorf("stale handle has buffer %v, refs %d", h.Buffer(), h.Refs())
		}
		if again.Refs() != 1 {
			t.Errorf("the new owner has %d references", again.Refs())
		}
		checkSums(t, p)
	})
}

func second[T any](_ T, err error) error { return err }

// Also while nobody else has the buffer: a generation ends with its last
// reference, not with the next hand-out.
func TestAHandleIsStaleAsSoonAsItsLastReferenceIsGone(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		p := newPool(t, newFake(), policy, pool.Options{})
		get(t, p, 10) // so that the pool is not at rest
		b := newBatch(t, p, 0)
		h, used := get(t, p, 100), get(t, p, 200)
		encode(t, b, pool.Buf(used))
		for _, h := range []pool.Handle{h, used} {
			if _, err := h.Release(); err != nil {
				t.Fatal(err)
			}
			before := p.Stats()
			if h.Refs() != 0 || h.Buffer() != nil {
				t.Errorf("%d references, buffer %v", h.Refs(), h.Buffer())
			}
			for what, err := range map[string]error{
				"release": second(h.Release()), "retain": second(h.Retain()),
				"encode": b.Encode(noop(pool.Buf(h))),
			} {
				if !errors.Is(err, pool.ErrStale) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if after := p.Stats(); after != before || after.Refs != after.Live.Count {
				t.Errorf("stats were %+v, are %+v", before, after)
			}
		}
		must(t, b.Close())
		checkSums(t, p)
	})
}

func TestMoreReferencesThanAWordHoldsAreRefused(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	h := get(t, p, 100)
	pool.FillRefs(h)
	if _, err := h.Retain(); !errors.Is(err, pool.ErrRefs) {
		t.Errorf("retain: %v", err)
	}
	if h.Refs() != 1<<28 {
		t.Errorf("%d references", h.Refs())
	}
	release(t, h, pool.Shared)
	if _, err := h.Retain(); err != nil {
		t.Errorf("retain after a release: %v", err)
	}
}

func TestForeignAndEmptyHandlesAreRefused(t *testing.T) {
	t.Parallel()
	mine := newPool(t, newFake(), named(t, "default"), pool.Options{})
	other := newPool(t, newFake(), named(t, "default"), pool.Options{})
	h := get(t, other, 1)
	if out, err := mine.Release(h); !errors.Is(err, pool.ErrForeign) || out != pool.NoOutcome {
		t.Errorf("release of a foreign handle: %v, %v", out, err)
	}
	if h.Refs() != 1 {
		t.Errorf("the foreign handle has %d references left", h.Refs())
	}
	if _, err := mine.Release(pool.Handle{}); !errors.Is(err, pool.ErrNoHandle) {
		t.Errorf("release of no handle: %v", err)
	}
	var none pool.Handle
	if _, err := none.Release(); !errors.Is(err, pool.ErrNoHandle) {
		t.Errorf("release: %v", err)
	}
	if _, err := none.Retain(); !errors.Is(err, pool.ErrNoHandle) {
		t.Errorf("retain: %v", err)
	}
	if none.Buffer() != nil || none.Refs() != 0 || none.Length() != 0 {
		t.Error("no handle has a buffer")
	}
	if out, err := other.Release(h); err != nil || out != pool.Returned {
		t.Errorf("release by its own pool: %v, %v", out, err)
	}
}

func TestSenselessRequestsAreErrors(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	for _, r := range []pool.Request{
		{},
		{Elements: 1},
		{ElementSize: 1},
		{Elements: 1 << 63, ElementSize: 2},
		{Elements: ^uint64(0), ElementSize: ^uint64(0)},
		{Elements: 1 << 40, ElementSize: 1 << 10},
	} {
		if _, err := p.Get(r); !errors.Is(err, pool.ErrRequest) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := p.Get(pool.Request{Elements: 9 << 30, ElementSize: 1}); !errors.Is(err, metal.ErrInvalid) {
		t.Errorf("longer than the device's longest: %v", err)
	}
	if s := p.Stats(); s.Misses != 0 || s.Live.Count != 0 {
		t.Errorf("refused requests left %+v", s)
	}
}

func TestSenselessPoliciesAreErrors(t *testing.T) {
	t.Parallel()
	good := named(t, "default")
	for name, change := range map[string]func(*pool.Policy){
		"class rule":   func(p *pool.Policy) { p.Class = "round" },
		"cap":          func(p *pool.Policy) { p.MaxIdlePerClass = -2 },
		"fraction":     func(p *pool.Policy) { p.IdleFraction = 1.5 },
		"not a number": func(p *pool.Policy) { p.IdleFraction = nan() },
		"parameters":   func(p *pool.Policy) { p.MaxParams = -1 },
	} {
		bad := good
		change(&bad)
		if _, err := pool.New(newFake(), bad, pool.Options{}); !errors.Is(err, pool.ErrPolicy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := pool.New(nil, good, pool.Options{}); !errors.Is(err, pool.ErrRequest) {
		t.Errorf("no device: %v", err)
	}
	_, err := pool.PolicyByName("tensorlogik")
	if !errors.Is(err, pool.ErrPolicy) || !strings.Contains(err.Error(), "tensorlogic") {
		t.Errorf("unknown policy: %v", err)
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

func TestUnpooledBuffersAreNeverKept(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		p := newPool(t, newFake(), policy, pool.Options{})
		h, err := p.Get(pool.Request{Elements: 1000, ElementSize: 2, Unpooled: true, Label: "weight"})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Buffer().Length(); got != 2000 {
			t.Errorf("length %d", got)
		}
		release(t, h, pool.NotPooled)
		s := p.Stats()
		if s.Unpooled != 1 || s.Misses != 0 || s.Idle.Count != 0 || s.Frees != 1 {
			t.Errorf("stats %+v", s)
		}
		checkSums(t, p)
	})
}

func TestOutOfMemoryGivesIdleBuffersBackAndTriesAgain(t *testing.T) {
	t.Parallel()
	dev := newFake()
	dev.info.RecommendedWorkingSet = 10 * fakePage
	p := newPool(t, dev, named(t, "neatml"), pool.Options{})
	var hs []pool.Handle
	for range 6 {
		hs = append(hs, get(t, p, fakePage/4))
	}
	for _, h := range hs[:5] {
		release(t, h, pool.Returned)
	}
	h := get(t, p, 9*fakePage/4)
	s := p.Stats()
	if s.Purged.Count != 5 || s.Idle.Count != 0 || s.Live.Count != 2 {
		t.Errorf("after the retry: %+v", s)
	}
	checkSums(t, p)

	_, err := p.Get(pool.Request{Elements: 2 * fakePage, ElementSize: 1, Label: "too much"})
	var oom *pool.OutOfMemoryError
	if !errors.As(err, &oom) || !errors.Is(err, metal.ErrOutOfMemory) {
		t.Fatalf("out of memory: %v", err)
	}
	want := pool.OutOfMemoryError{
		RequestedBytes: 2 * fakePage, LiveBytes: 10 * fakePage, LimitBytes: 10 * fakePage, Label: "too much",
		Err: oom.Err,
	}
	if *oom != want {
		t.Errorf("got %+v, want %+v", *oom, want)
	}
	var device *metal.OutOfMemoryError
	if !errors.As(err, &device) {
		t.Errorf("the device's error is not in %v", err)
	}
	for _, word := range []string{"too much", "requested 32768 B", "live 163840 B", "idle 0 B",
		"limit 163840 B"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in %q", word, err)
		}
	}
	release(t, h, pool.Returned)
}

func TestAFailureThatIsNotOutOfMemoryIsNotRetried(t *testing.T) {
	t.Parallel()
	dev := newFake()
	p := newPool(t, dev, named(t, "candle"), pool.Options{})
	release(t, get(t, p, 100), pool.Returned)
	if _, err := p.Get(pool.Request{Elements: 9 << 30, ElementSize: 1}); !errors.Is(err, metal.ErrInvalid) {
		t.Fatal(err)
	}
	if s := p.Stats(); s.Purged.Count != 0 || s.Idle.Count != 1 {
		t.Errorf("idle buffers were given back for nothing: %+v", s)
	}
}

func TestCloseNamesWhatIsStillLive(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{Sites: true})
	keep := get(t, p, 1<<20)
	release(t, get(t, p, 10), pool.Returned)
	err := p.Close()
	var live *pool.LiveError
	if !errors.As(err, &live) || !errors.Is(err, pool.ErrLive) || live.Live.Count != 1 {
		t.Fatalf("close: %v", err)
	}
	if !strings.Contains(err.Error(), "pool_test.go") {
		t.Errorf("no site in %q", err)
	}
	if _, err := p.Get(pool.Request{Elements: 1, ElementSize: 1}); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("get after close: %v", err)
	}
	if err := p.Close(); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("second close: %v", err)
	}
	release(t, keep, pool.NotPooled)
	if u := p.Device().Usage(); u.Buffers != 0 {
		t.Errorf("%d buffers left", u.Buffers)
	}
}
