package pool_test

import (
	"testing"

	"github.com/gpumem/gpumem/pool"
)

func TestPagesClassesWasteAtMostAnEighth(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	classes := make(map[uint64]bool)
	for pages := uint64(1); pages < 2048; pages++ {
		h, err := p.Get(pool.Request{Elements: pages*fakePage - 1, ElementSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		got := h.Buffer().Length()
		if got < pages*fakePage || got*8 > pages*fakePage*9 || got%fakePage != 0 {
			t.Errorf("%d pages: class of %d B", pages, got)
		}
		classes[got] = true
		if _, err := h.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if len(classes) > 8+8*8 {
		t.Errorf("%d classes for 2047 sizes", len(classes))
	}
}

func TestARoundedLengthNeverExceedsTheLongestBuffer(t *testing.T) {
	t.Parallel()
	dev := newFake()
	dev.info.MaxBufferLength = 5 << 30
	for _, name := range []string{"default", "candle"} {
		p := newPool(t, dev, named(t, name), pool.Options{})
		h, err := p.Get(pool.Request{Elements: 5<<30 - 1, ElementSize: 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := h.Release(); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIdleBytesStayBelowTheLimitAndTheOldestGo(t *testing.T) {
	t.Parallel()
	policy := pool.Policy{Name: "small", Class: pool.ClassExact, MaxIdlePerClass: -1,
		MaxIdleBytes: 4 * fakePage}
	p := newPool(t, newFake(), policy, pool.Options{})
	var hs []pool.Handle
	for i := range uint64(6) {
		hs = append(hs, get(t, p, 100+i))
	}
	for _, h := range hs {
		release(t, h, pool.Returned)
		if idle := p.Stats().Idle.PageBytes; idle > 4*fakePage {
			t.Fatalf("%d B idle", idle)
		}
	}
	s := p.Stats()
	if s.Idle.Count != 4 || s.Evicted.Count != 2 || s.Frees != 2 {
		t.Errorf("stats %+v", s)
	}
	checkSums(t, p)
	for i := range uint64(6) {
		release(t, get(t, p, 100+i), pool.Returned)
	}
	if s := p.Stats(); s.Hits >= 6 {
		t.Errorf("%d hits of evicted sizes", s.Hits)
	}
	// What is larger than the limit is refused and evicts nothing.
	before := p.Stats().Idle
	release(t, get(t, p, 5*fakePage), pool.CapFull)
	if got := p.Stats().Idle; got != before {
		t.Errorf("idle was %+v, is %+v", before, got)
	}
	checkSums(t, p)
}

func TestTheDefaultLimitIsAShareOfTheWorkingSet(t *testing.T) {
	t.Parallel()
	dev := newFake()
	dev.info.RecommendedWorkingSet = 64 * fakePage
	p := newPool(t, dev, named(t, "default"), pool.Options{})
	hold := get(t, p, 1) // so that the pool is not at rest
	var hs []pool.Handle
	for range 40 {
		hs = append(hs, get(t, p, 1))
	}
	for _, h := range hs {
		release(t, h, pool.Returned)
	}
	if s := p.Stats(); s.Idle.PageBytes != 16*fakePage || s.Evicted.Count != 24 {
		t.Errorf("stats %+v", s)
	}
	release(t, hold, pool.Returned)
}

func TestIdleBuffersNeverPushOutWhatTheProgramNeeds(t *testing.T) {
	t.Parallel()
	dev := newFake()
	dev.info.RecommendedWorkingSet = 64 * fakePage
	p := newPool(t, dev, named(t, "default"), pool.Options{})
	hold := get(t, p, 1)
	var hs []pool.Handle
	for range 16 {
		hs = append(hs, get(t, p, 1))
	}
	for _, h := range hs {
		release(t, h, pool.Returned)
	}
	big := get(t, p, 56*fakePage/4)
	s := p.Stats()
	if s.Purged.Count != 0 || s.Evicted.Count != 9 || s.Idle.Count != 7 {
		t.Errorf("stats %+v", s)
	}
	release(t, big, pool.CapFull)
	release(t, hold, pool.Returned)
	checkSums(t, p)
}

func TestBuffersThatStayIdleAreTrimmed(t *testing.T) {
	t.Parallel()
	policy := named(t, "default")
	policy.TrimAfter = 100
	p := newPool(t, newFake(), policy, pool.Options{})
	weight := get(t, p, 10)
	release(t, get(t, p, 100_000), pool.Returned) // used once, then never again
	for range 100 {
		release(t, get(t, p, 10), pool.Returned)
	}
	if s := p.Stats(); s.Idle.Count != 2 {
		t.Fatalf("trimmed too early: %+v", s)
	}
	for range 5 {
		release(t, get(t, p, 10), pool.Returned)
	}
	if s := p.Stats(); s.Idle.Count != 1 || s.Evicted.Count != 1 {
		t.Errorf("stats %+v", s)
	}
	release(t, weight, pool.Returned)
	checkSums(t, p)
}

func TestTrimAtRestDropsWhatThePolicyWould(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]uint64{
		"default": 0, "candle": 0, "tensorlogic": 3, "tl": 3, "neatml": 3, "neatml-early": 3, "none": 0,
	} {
		policy := named(t, name)
		policy.TrimAtRest = false // by hand, below
		p := newPool(t, newFake(), policy, pool.Options{})
		for i := range uint64(3) {
			h := get(t, p, 100_000+100_000*i)
			if _, err := h.Release(); err != nil {
				t.Fatal(err)
			}
		}
		if policy.TrimAfter > 0 {
			continue
		}
		p.Trim()
		if got := p.Stats().Idle.Count; got != want {
			t.Errorf("%s keeps %d buffers after a trim, want %d", name, got, want)
		}
		checkSums(t, p)
	}
}

func TestTheLastReleaseLeavesOnlyTheRest(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	var hs []pool.Handle
	for range 100 {
		hs = append(hs, get(t, p, 100_000))
	}
	for i, h := range hs {
		if got := p.Stats().Idle.Count; got != uint64(i) {
			t.Fatalf("%d idle after %d releases", got, i)
		}
		release(t, h, pool.Returned)
	}
	s := p.Stats()
	if rest := p.Policy().RestBytes; s.Idle.PageBytes > rest {
		t.Errorf("%d B idle at rest, more than %d", s.Idle.PageBytes, rest)
	}
	if s.Outcomes[pool.Returned] != 100 || s.Evicted.Count == 0 {
		t.Errorf("stats %+v", s)
	}
	checkSums(t, p)
}

func TestBestFitTakesTheSmallestThatIsLargeEnough(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "candle"), pool.Options{})
	small, big, huge := get(t, p, 1<<10), get(t, p, 1<<14), get(t, p, 1<<20)
	for _, h := range []pool.Handle{huge, small, big} {
		release(t, h, pool.Returned)
	}
	h := get(t, p, 1<<12)
	if got := h.Buffer().Length(); got != 4<<14 {
		t.Errorf("served from %d B", got)
	}
	again := get(t, p, 1<<12)
	if got := again.Buffer().Length(); got != 4<<20 {
		t.Errorf("then from %d B: there is no upper bound", got)
	}
	release(t, again, pool.Returned)
	release(t, h, pool.Returned)
	if s := p.Stats(); s.Hits != 2 || s.Misses != 3 || s.Idle.Count != 3 {
		t.Errorf("stats %+v", s)
	}
}

func TestTheNewestIdleBufferIsHandedOutFirst(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "tensorlogic"), pool.Options{})
	a, b := get(t, p, 2000), get(t, p, 2000)
	newest := b.Buffer()
	release(t, a, pool.Returned)
	release(t, b, pool.Returned)
	if h := get(t, p, 2000); h.Buffer() != newest {
		t.Error("the oldest was handed out")
	}
}

// Nobody reads Stats in between, so the marks come from the moves themselves.
func TestTheHighWaterMarksCountEachStateByItself(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "neatml"), pool.Options{})
	b := newBatch(t, p, 0)
	const each = 400 // bytes
	one, two := get(t, p, each/4), get(t, p, each/4)
	release(t, one, pool.Returned)
	release(t, two, pool.Returned)
	one, two = get(t, p, each/4), get(t, p, each/4) // hits: the idle ones are not live as well
	encode(t, b, pool.Buf(one), pool.Buf(two))
	release(t, one, pool.Pending)
	release(t, two, pool.Pending)
	get(t, p, each/4) // nor are the pending ones
	get(t, p, each/4)
	s := p.Stats()
	if s.PeakLiveCount != 2 || s.PeakLiveBytes != 2*each {
		t.Errorf("peak of %d live buffers, %d B", s.PeakLiveCount, s.PeakLiveBytes)
	}
	if s.PeakIdleBytes != 2*each || s.PeakPendingBytes != 2*each || s.PeakReservedBytes != 4*fakePage {
		t.Errorf("peaks %+v", s)
	}
	get(t, p, each/4)
	if s := p.Stats(); s.PeakLiveCount != 3 || s.PeakLiveBytes != 3*each {
		t.Errorf("peak of %d live buffers, %d B", s.PeakLiveCount, s.PeakLiveBytes)
	}
	must(t, b.Close())
	checkSums(t, p)
}

func TestPurgeEmptiesIdleBuffersAndTouchesNoOthers(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		policy.TrimAtRest = false
		dev := newFake()
		p := newPool(t, dev, policy, pool.Options{})
		live := get(t, p, 5000)
		var hs []pool.Handle
		for i := range uint64(10) {
			hs = append(hs, get(t, p, 1000+3*i))
		}
		for _, h := range hs {
			if _, err := h.Release(); err != nil {
				t.Fatal(err)
			}
		}
		idle := p.Stats().Idle
		r := p.Purge()
		if r.Action != pool.ActionPurge || r.Buffers != idle.Count || r.Bytes != idle.Bytes ||
			r.PageBytes != idle.PageBytes {
			t.Errorf("receipt %+v, idle was %+v", r, idle)
		}
		if r.ReturnedBytes() != int64(r.PageBytes) || r.Errors != 0 || r.Deferred != 0 {
			t.Errorf("claimed %d B, returned %d B: %+v", r.PageBytes, r.ReturnedBytes(), r)
		}
		if dev.emptied != int(idle.Count) {
			t.Errorf("%d of %d buffers were marked empty", dev.emptied, idle.Count)
		}
		s := p.Stats()
		if s.Live.Count != 1 || live.Refs() != 1 || s.Idle.Count != 0 || s.Purged != idle {
			t.Errorf("after the purge: %+v", s)
		}
		checkSums(t, p)
		if r := p.Purge(); r.Buffers != 0 {
			t.Errorf("the second purge: %+v", r)
		}
		if _, err := live.Release(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEndlesslyManySizesDoNotGrowThePoolsOwnMemory(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "none"), pool.Options{})
	for i := range uint64(20_000) {
		release(t, get(t, p, 1+i), pool.NotPooled)
	}
	if n := len(p.Classes()); n > 4096 {
		t.Errorf("%d class records", n)
	}
	if s := p.Stats(); s.Misses != 20_000 {
		t.Errorf("%d misses", s.Misses)
	}
}
