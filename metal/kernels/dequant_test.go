package kernels_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/metaltest"
)

// same compares values, all NaN being equal.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// checkDecoding decodes n values both ways and compares each one with the
// float64 decoder: to f32 exactly, to f16 rounded once.
func checkDecoding(t *testing.T, f kernels.Format, src []byte, n int) {
	t.Helper()
	single, half := make([]float32, n), make([]uint16, n)
	if err := errors.Join(kernels.DequantF32(single, src, f), kernels.DequantF16(half, src, f)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		want := metaltest.DecodeValue(f, src, i)
		if !same(float64(single[i]), want) {
			t.Fatalf("%v: value %d of %d is %v, want %v", f, i, n, single[i], want)
		}
		if got := metaltest.DecodeHalf(half[i]); !same(got, metaltest.RoundToHalf(want)) {
			t.Fatalf("%v: value %d of %d in f16 is %v, want %v", f, i, n, got, metaltest.RoundToHalf(want))
		}
		if got := kernels.F32ToF16(single[i]); got != half[i] && !math.IsNaN(want) {
			t.Fatalf("%v: value %d of %d is %#04x in f16, %#04x by way of f32", f, i, n, half[i], got)
		}
	}
}

func TestBlocksDecodeAsTheFormatSays(t *testing.T) {
	t.Parallel()
	for _, f := range formats() {
		per := f.BlockValues()
		for seed, n := range []int{0, 1, per - 1, per, per + 1, 2 * per, 4096, 5000} {
			checkDecoding(t, f, blocks(f, n, uint64(seed)), n)
		}
		// Any bytes: scales that are NaN, infinite, subnormal, negative.
		rng := rand.New(rand.NewPCG(3, uint64(f)))
		src := make([]byte, 2000*f.BlockBytes())
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		checkDecoding(t, f, src, 2000*per)
	}
}

// Every scale meets every nibble.
func TestQ4_0DecodesWithEveryScale(t *testing.T) {
	t.Parallel()
	src := make([]byte, 0, 18<<16)
	for h := range 1 << 16 {
		src = binary.LittleEndian.AppendUint16(src, uint16(h))
		for q := range 16 {
			src = append(src, byte(q|(15-q)<<4))
		}
	}
	checkDecoding(t, kernels.Q4_0, src, 32<<16)
}

func TestBadInputIsRefusedAndWritesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		format kernels.Format
		values int
		bytes  int
	}{
		{"an unknown format", 4, 1, 100},
		{"a format beyond all", 1 << 31, 1, 100},
		{"no bytes", kernels.Q4_0, 1, 0},
		{"a cut block", kernels.Q4_0, 32, 17},
		{"a block too few", kernels.Q8_0, 33, 34},
		{"a cut large block", kernels.Q6_K, 1, 209},
		{"three bytes of a float", kernels.Float, 1, 3},
		{"one byte of a half", kernels.HalfFloat, 1, 1},
	} {
		single, half := make([]float32, c.values), make([]uint16, c.values)
		src := make([]byte, c.bytes)
		for i := range src {
			src[i] = 0x33
		}
		for _, err := range []error{kernels.DequantF32(single, src, c.format),
			kernels.DequantF16(half, src, c.format)} {
			if !errors.Is(err, metal.ErrInvalid) {
				t.Errorf("%s: error %v", c.name, err)
			}
		}
		for i := range c.values {
			if single[i] != 0 || half[i] != 0 {
				t.Fatalf("%s: value %d was written", c.name, i)
			}
		}
	}
}

func TestFormatsKnowTheirBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f             kernels.Format
		name          string
		values, bytes int
	}{
		{0, "F32", 1, 4}, {1, "F16", 1, 2}, {2, "Q4_0", 32, 18}, {8, "Q8_0", 32, 34}, {14, "Q6_K", 256, 210},
		{4, "format 4", 0, 0},
		{3, "Q4_1", 32, 20}, {6, "Q5_0", 32, 22}, {7, "Q5_1", 32, 24}, {10, "Q2_K", 256, 84}, {11, "Q3_K", 256, 110},
		{12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176}, {30, "BF16", 1, 2},
		{20, "IQ4_NL", 32, 18}, {23, "IQ4_XS", 256, 136},
	} {
		if c.f.String() != c.name || c.f.BlockValues() != c.values || c.f.BlockBytes() != c.bytes ||
			c.f.Known() != (c.values > 0) {
			t.Errorf("%d is %v: %d values in %d B, known %v", c.f, c.f, c.f.BlockValues(),
				c.f.BlockBytes(), c.f.Known())
		}
	}
}

func FuzzDequantise(f *testing.F) {
	for _, format := range formats() {
		f.Add(uint32(format), 40, blocks(format, 300, 1))
	}
	f.Add(uint32(5), 1, []byte{1})
	f.Fuzz(func(t *testing.T, id uint32, n int, src []byte) {
		if n < 0 || n > 1<<12 {
			return
		}
		format := kernels.Format(id)
		enough := format.Known() && (n+format.BlockValues()-1)/format.BlockValues()*format.BlockBytes() <= len(src)
		if !enough {
			if kernels.DequantF16(make([]uint16, n), src, format) == nil || kernels.DequantF32(make([]float32, n), src,
				format) == nil {
				t.Fatal("too few bytes were decoded")
			}
			return
		}
		checkDecoding(t, format, src, n)
	})
}
