package pool_test

import (
	"testing"

	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
)

func TestCandleMakesABufferAnewForDataAndLetsOthersUseItLater(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "candle"), pool.Options{})
	release(t, get(t, p, 1000), pool.Returned) // 4,096 B, idle
	data := func() pool.Handle {
		h, err := p.Get(pool.Request{Elements: 900, ElementSize: 4, Label: "data", Data: true})
		must(t, err)
		return h
	}
	h := data()
	if got := h.Buffer().Length(); got != 3600 {
		t.Errorf("data of 3,600 B is in a buffer of %d B", got)
	}
	release(t, h, pool.Returned)
	again := data()
	if s := p.Stats(); s.Hits != 0 || s.Misses != 3 || s.Idle.Count != 2 {
		t.Errorf("an idle buffer took data: %+v", s)
	}
	// The data's buffer is the smallest that holds 2,048 B.
	if h := get(t, p, 512); h.Buffer().Length() != 3600 {
		t.Errorf("served from %d B", h.Buffer().Length())
	}
	release(t, again, pool.Returned)
	checkSums(t, p)

	other := newPool(t, newFake(), named(t, "tensorlogic"), pool.Options{})
	release(t, get(t, other, 1000), pool.Returned)
	if _, err := other.Get(pool.Request{Elements: 900, ElementSize: 4, Label: "data", Data: true}); err != nil ||
		other.Stats().Hits != 1 {
		t.Errorf("another policy makes data's buffer anew: %v, %+v", err, other.Stats())
	}
}

func TestTLKeepsThirtyTwoOfEachLengthAndTypeAndFewerWhenTold(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "tl"), pool.Options{})
	use := func(n int, elementSize uint64) (kept uint64) {
		var handles []pool.Handle
		for range n {
			h, err := p.Get(pool.Request{Elements: 100, ElementSize: elementSize, Label: "x"})
			must(t, err)
			handles = append(handles, h)
		}
		before := p.Stats().Outcomes[pool.Returned]
		for _, h := range handles {
			if _, err := h.Release(); err != nil {
				t.Fatal(err)
			}
		}
		return p.Stats().Outcomes[pool.Returned] - before
	}
	if got := use(40, 4); got != 32 {
		t.Errorf("%d of 40 are kept", got)
	}
	if h, err := p.Get(pool.Request{Elements: 200, ElementSize: 2, Label: "half"}); err != nil || p.Stats().Hits != 0 ||
		h.Buffer().Length() != 400 {
		t.Errorf("a tensor of f16 has f32's buffer of the same length: %v, %+v", err, p.Stats())
	}
	p.LimitIdle(4)
	if got := use(40, 4); got != 4 {
		t.Errorf("beside a large cache %d of 40 are kept", got)
	}
	if got := use(40, 8); got != 4 {
		t.Errorf("of another type %d of 40 are kept", got)
	}
	unlimited := newPool(t, newFake(), named(t, "candle"), pool.Options{})
	unlimited.LimitIdle(4)
	p = unlimited
	if got := use(40, 4); got != 40 {
		t.Errorf("a policy without a limit keeps %d of 40", got)
	}
}

// TestTheInvestigationsBuffersAreLittleMemoryByTheirLengthsAndMuchByTheirPages has the
// 356 tensors of N-Queens that were 106,472 B in the TL language's log.
func TestTheInvestigationsBuffersAreLittleMemoryByTheirLengthsAndMuchByTheirPages(t *testing.T) {
	t.Parallel()
	dev, err := soft.Open(soft.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, dev.Close()) })
	p := newPool(t, dev, named(t, "candle"), pool.Options{})
	t.Cleanup(func() { must(t, p.Close()) })
	for bytes, n := range map[uint64]int{4096: 25, 512: 2, 256: 3, 64: 6, 32: 22, 4: 298} {
		for range n {
			h, err := p.Get(pool.Request{Elements: bytes / 4, ElementSize: 4, Label: "tensor"})
			must(t, err)
			defer h.Release()
		}
	}
	const pages = 356 * 16 << 10 // 5.6 MiB
	if s := p.Stats(); s.Live.Count != 356 || s.Live.Bytes != 106_472 || s.Live.PageBytes != pages {
		t.Errorf("%+v, want 106,472 B in %d B of pages", s.Live, pages)
	}
}
