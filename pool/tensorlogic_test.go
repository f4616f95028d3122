package pool_test

import (
	"testing"

	"github.com/gpumem/gpumem/pool"
)

// The 201 tensors of TinyLlama-1.1B dequantised to f16, in elements, as the
// investigation's model has them.
func tinyLlama() []uint64 {
	const hidden, feedForward, kv, vocabulary, blocks = 2048, 5632, 256, 32000, 22
	sizes := []uint64{vocabulary * hidden}
	for range blocks {
		sizes = append(sizes,
			hidden, hidden, // attn_norm, ffn_norm
			hidden*hidden, hidden*hidden, // attn_q, attn_output
			hidden*kv, hidden*kv, // attn_k, attn_v
			hidden*feedForward, hidden*feedForward, hidden*feedForward) // ffn_gate, ffn_up, ffn_down
	}
	return append(sizes, hidden, vocabulary*hidden) // output_norm, output
}

// loadAndClear gets all tensors, reads one through a second reference, and
// gives everything up.
func loadAndClear(t *testing.T, p *pool.Pool) (total uint64) {
	t.Helper()
	var hs []pool.Handle
	for _, n := range tinyLlama() {
		h, err := p.Get(pool.Request{Elements: n, ElementSize: 2, Label: "weight"})
		if err != nil {
			t.Fatal(err)
		}
		total += h.Length()
		hs = append(hs, h)
	}
	clone, err := hs[0].Retain()
	if err != nil {
		t.Fatal(err)
	}
	release(t, clone, pool.Shared)
	for _, h := range hs {
		if _, err := h.Release(); err != nil {
			t.Fatal(err)
		}
	}
	return total
}

func TestTensorlogicKeepsTheInvestigationsFiguresToTheByte(t *testing.T) {
	t.Parallel()
	const tensors, total = 201, 2_200_096_768
	for _, c := range []struct {
		cap, buffers int
		bytes        uint64
		mib          string
	}{
		{10, 42, 587_243_520, "560.04"},
		{20, 82, 912_343_040, "870.08"},
		{30, 122, 1_237_442_560, "1180.12"},
		{50, 185, 1_830_998_016, "1746.18"},
	} {
		p := newPool(t, newFake(), named(t, "tensorlogic").WithCap(c.cap), pool.Options{})
		if got := loadAndClear(t, p); got != total {
			t.Errorf("the model has %d B", got)
		}
		s := p.Stats()
		if s.Allocs != tensors || s.PeakLiveBytes != total || s.Live.Count != 0 || s.Refs != 0 {
			t.Errorf("cap %d: %+v", c.cap, s)
		}
		if s.Idle.Count != uint64(c.buffers) || s.Idle.Bytes != c.bytes {
			t.Errorf("cap %d keeps %d buffers, %d B; want %d, %d (%s MiB)",
				c.cap, s.Idle.Count, s.Idle.Bytes, c.buffers, c.bytes, c.mib)
		}
		if got, want := s.Outcomes[pool.CapFull], uint64(tensors-c.buffers); got != want ||
			s.Outcomes[pool.Returned] != uint64(c.buffers) {
			t.Errorf("cap %d: outcomes %v", c.cap, s.Outcomes)
		}
		checkSums(t, p)
		r := p.Purge()
		if r.Buffers != uint64(c.buffers) || r.Bytes != c.bytes || r.ReturnedBytes() != int64(r.PageBytes) {
			t.Errorf("cap %d: receipt %+v", c.cap, r)
		}
		checkSums(t, p)
	}
}

func TestTensorlogicFreesWhatTheCapRefuses(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "tensorlogic"), pool.Options{})
	total := loadAndClear(t, p)
	if freed := total - p.Stats().Idle.Bytes; freed != 962_654_208 {
		t.Errorf("freed %d B", freed)
	}
	want := []struct{ elements, idle, hits uint64 }{
		{65_536_000, 2, 0}, {11_534_336, 30, 0}, {4_194_304, 30, 0}, {524_288, 30, 0}, {2_048, 30, 0},
	}
	classes := p.Classes()
	if len(classes) != len(want) {
		t.Fatalf("%d classes: %+v", len(classes), classes)
	}
	for i, c := range classes {
		if c.Class.Elements != want[i].elements || c.Class.ElementSize != 2 || c.Idle != want[i].idle ||
			c.MaxIdle != 30 {
			t.Errorf("class %d: %+v, want %+v", i, c, want[i])
		}
	}
	// Trimming is what this policy never does.
	if r := p.Trim(); r.Buffers != 0 {
		t.Errorf("trimmed %+v", r)
	}
	// Loading again reuses what was kept: the growth is bounded.
	loadAndClear(t, p)
	if s := p.Stats(); s.Hits != 122 || s.Idle.Count != 122 {
		t.Errorf("after the second load: %+v", s)
	}
}

func TestDefaultKeepsNothingOfAModelThatWasCleared(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	for range 3 {
		loadAndClear(t, p)
		if s := p.Stats(); s.Idle.PageBytes > 1<<20 {
			t.Errorf("%d B idle", s.Idle.PageBytes)
		}
	}
	if rate, ok := p.Stats().ReturnRate(); !ok || rate <= 0.95 {
		t.Errorf("return rate %v", rate)
	}
	checkSums(t, p)
}

func TestElementSizesNeverShareABuffer(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "tensorlogic"), pool.Options{})
	half, err := p.Get(pool.Request{Elements: 2048, ElementSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	release(t, half, pool.Returned)
	whole, err := p.Get(pool.Request{Elements: 2048, ElementSize: 4})
	if err != nil {
		t.Fatal(err)
	}
	if got := whole.Buffer().Length(); got < 2048*4 {
		t.Errorf("an f32 request got a buffer of %d B", got)
	}
}

func TestABufferReturnsToItsOwnClass(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "tensorlogic"), pool.Options{})
	const exact = 8<<20 + 1500 // above the largest class: exact
	release(t, get(t, p, exact), pool.Returned)
	h := get(t, p, exact+100)
	if got := h.Buffer().Length(); got < h.Length() {
		t.Errorf("a request of %d B got a buffer of %d B", h.Length(), got)
	}
}
