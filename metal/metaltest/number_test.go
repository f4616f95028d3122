package metaltest

import (
	"math"
	"testing"

	"github.com/gpumem/gpumem/metal/kernels"
)

// The decoders everything is compared with, against values worked out by hand.
func TestDecodersGiveValuesWorkedOutByHand(t *testing.T) {
	t.Parallel()
	q4 := make([]byte, 36)
	q4[18], q4[19] = 0x00, 0xb8 // the second block's scale is -0.5
	q4[20], q4[35] = 0xf0, 0x0a
	q8 := make([]byte, 34)
	q8[0], q8[1], q8[2], q8[33] = 0x00, 0x40, 0x80, 0x7f // 2
	q6 := make([]byte, 210)
	q6[209] = 0x3c                // 1
	q6[0], q6[128] = 0xf5, 0xe4   // low bits of values 0 and 64; high bits of 0, 32, 64, 96
	q6[192], q6[194] = 3, 0xfe    // scales of 0–15 and 32–47
	q6[196], q6[198] = 1, 1       // of 64–79 and 96–111
	q6[127], q6[191] = 0x90, 0x80 // the last of each half's second half
	q6[207], q6[203] = 0x80, 0x01 // -128 for 240–255
	for _, c := range []struct {
		f    kernels.Format
		p    []byte
		i    int
		want float64
	}{
		{kernels.Q4_0, q4, 32, 4}, {kernels.Q4_0, q4, 48, -3.5}, {kernels.Q4_0, q4, 47, -1},
		{kernels.Q4_0, q4, 63, 4}, {kernels.Q4_0, q4, 33, 4},
		{kernels.Q8_0, q8, 0, -256}, {kernels.Q8_0, q8, 31, 254}, {kernels.Q8_0, q8, 1, 0},
		{kernels.Q6_K, q6, 0, 3 * (5 - 32)}, {kernels.Q6_K, q6, 32, -2 * (16 - 32)},
		{kernels.Q6_K, q6, 64, 15 + 32 - 32}, {kernels.Q6_K, q6, 96, 48 - 32},
		{kernels.Q6_K, q6, 255, -128 * (9 + 32 - 32)},
		{kernels.Float, []byte{0, 0, 0x80, 0xbf}, 0, -1}, {kernels.HalfFloat, []byte{0, 0, 1, 0}, 1, 0x1p-24},
	} {
		if got := DecodeValue(c.f, c.p, c.i); got != c.want {
			t.Errorf("%v: value %d is %v, want %v", c.f, c.i, got, c.want)
		}
	}
	if got := DecodeValue(99, nil, 0); !math.IsNaN(got) {
		t.Errorf("an unknown format gives %v", got)
	}
}

func TestHalvesRoundToNearestEven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ v, want float64 }{
		{0, 0}, {1, 1}, {1 + 0x1p-11, 1}, {1 + 3*0x1p-11, 1 + 0x1p-9}, {-1 - 0x1.8p-11, -1 - 0x1p-10},
		{65504, 65504}, {65519.99, 65504}, {65520, math.Inf(1)}, {-1e9, math.Inf(-1)},
		{0x1p-25, 0}, {0x1.01p-25, 0x1p-24}, {0x1.8p-24, 0x1p-23}, {math.Inf(1), math.Inf(1)},
	} {
		if got := RoundToHalf(c.v); got != c.want {
			t.Errorf("%v became %v, want %v", c.v, got, c.want)
		}
	}
}

func TestAnEstimateRefusesWhatIsFurtherOff(t *testing.T) {
	t.Parallel()
	e := sum(plain(1), plain(2))
	for _, c := range []struct {
		e    estimate
		got  float64
		want bool
	}{
		{e, 3, true}, {e, 3 + 1e-6, true}, {e, 3 + 1e-5, false}, {e, math.NaN(), false}, {exact(2), 2, true},
		{exact(2), math.Nextafter(2, 3), false}, {exact(math.NaN()), math.NaN(), true}, {exact(math.NaN()), 1, false},
		{exact(math.Inf(1)), math.Inf(1), true}, {exact(math.Inf(1)), math.Inf(-1), false},
		{exact(1), math.Inf(1), false},
	} {
		if got := c.e.holds(c.got); got != c.want {
			t.Errorf("%v within %v of %v: %v", c.got, c.e.slack, c.e.value, got)
		}
	}
}

func TestAKernelWithoutAReferenceIsNoticed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "no_such_kernel", "dequant_iq3_s_f16"} {
		if _, ok := referenceOf(kernels.Kernel{Name: name}); ok {
			t.Errorf("kernel %q has a reference", name)
		}
	}
}
