package kernels_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/metaltest"
)

func TestEveryBinary16WidensExactlyAndComesBack(t *testing.T) {
	t.Parallel()
	for i := range 1 << 16 {
		h := uint16(i)
		got, want := kernels.F16ToF32(h), metaltest.DecodeHalf(h)
		if math.IsNaN(want) {
			bits := math.Float32bits(got)
			if !math.IsNaN(float64(got)) || uint16(bits>>16)&0x8000 != h&0x8000 ||
				bits>>13&0x3ff != uint32(h&0x3ff) {
				t.Fatalf("NaN %#04x became %#08x", h, bits)
			}
			if back := kernels.F32ToF16(got); back != h|0x200 {
				t.Fatalf("NaN %#04x came back as %#04x", h, back)
			}
			continue
		}
		if float64(got) != want || math.Signbit(float64(got)) != (h>>15 == 1) {
			t.Fatalf("%#04x became %v, want %v", h, got, want)
		}
		if back := kernels.F32ToF16(got); back != h {
			t.Fatalf("%#04x came back as %#04x", h, back)
		}
	}
}

// Between two neighbours the middle goes to the even one, and what is next to
// the middle to the nearer one.
func TestNarrowingRoundsToNearestEven(t *testing.T) {
	t.Parallel()
	for h := uint16(0); h < 0x7c00; h++ {
		low, high := metaltest.DecodeHalf(h), 65536.0
		if h < 0x7bff {
			high = metaltest.DecodeHalf(h + 1)
		}
		middle := float32((low + high) / 2) // exact: one bit more
		below := math.Nextafter32(middle, 0)
		above := math.Nextafter32(middle, math.MaxFloat32)
		for _, c := range []struct {
			v    float32
			want uint16
		}{{below, h}, {middle, h + h&1}, {above, h + 1}} {
			if got := kernels.F32ToF16(c.v); got != c.want {
				t.Fatalf("%v became %#04x, want %#04x", c.v, got, c.want)
			}
			if got := kernels.F32ToF16(-c.v); got != c.want|0x8000 {
				t.Fatalf("%v became %#04x, want %#04x", -c.v, got, c.want|0x8000)
			}
		}
	}
}

func TestNarrowingOfAnyFloatIsTheNearest(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	for range 1_000_000 {
		v := math.Float32frombits(rng.Uint32())
		got, want := metaltest.DecodeHalf(kernels.F32ToF16(v)), metaltest.RoundToHalf(float64(v))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%v (%#08x) became %v, want %v", v, math.Float32bits(v), got, want)
		}
	}
}

func TestViewsShareTheMemoryAndRefuseWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	p := make([]byte, 16)
	floats, err := kernels.AsF32(p)
	if err != nil || len(floats) != 4 {
		t.Fatalf("%d values, %v", len(floats), err)
	}
	floats[1] = 1
	halves, err := kernels.AsF16(p)
	if err != nil || len(halves) != 8 || halves[3] != 0x3f80 {
		t.Fatalf("%v, %v", halves, err)
	}
	for _, bad := range [][]byte{p[:3], p[1:5], p[:6], p[2:6]} {
		if _, err := kernels.AsF32(bad); !errors.Is(err, metal.ErrInvalid) {
			t.Errorf("%d B as f32: error %v", len(bad), err)
		}
	}
	for _, bad := range [][]byte{p[:3], p[1:5]} {
		if _, err := kernels.AsF16(bad); !errors.Is(err, metal.ErrInvalid) {
			t.Errorf("%d B as f16: error %v", len(bad), err)
		}
	}
	if v, err := kernels.AsF32(nil); err != nil || len(v) != 0 {
		t.Errorf("no bytes: %v, %v", v, err)
	}
}
