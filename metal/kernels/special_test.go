package kernels_test

import (
	"math"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// single runs a kernel of float32 buffers; the last one is the result.
func single(t *testing.T, kernel string, grid metal.Size, params [][]byte, buffers ...[]float32) []float32 {
	t.Helper()
	k, ok := kernels.ByName(kernel)
	if !ok {
		t.Fatalf("no kernel %s", kernel)
	}
	var args [][]byte
	for _, b := range buffers {
		p := make([]byte, 4*len(b))
		view, err := kernels.AsF32(p)
		if err != nil {
			t.Fatal(err)
		}
		copy(view, b)
		args = append(args, p)
	}
	if err := k.Run(kernels.Call{Grid: grid, Args: append(args, params...)}); err != nil {
		t.Fatal(err)
	}
	out, err := kernels.AsF32(args[len(buffers)-1])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSpecialNumbersGoThrough(t *testing.T) {
	t.Parallel()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	const least = math.SmallestNonzeroFloat32
	for _, c := range []struct {
		kernel  string
		buffers [][]float32
		want    []float32
	}{
		{"relu", [][]float32{{nan, inf, -inf, -0.5, least, -least}}, []float32{nan, inf, 0, 0, least, 0}},
		{"sigmoid", [][]float32{{nan, inf, -inf, 1000, -1000, 0}}, []float32{nan, 1, 0, 1, 0, 0.5}},
		{"tanh", [][]float32{{nan, inf, -inf, 1000, least}}, []float32{nan, 1, -1, 1, least}},
		{"add", [][]float32{{inf, inf, least, math.MaxFloat32}, {-inf, 1, least, math.MaxFloat32}},
			[]float32{nan, inf, 2 * least, inf}},
		{"mul", [][]float32{{inf, least, nan}, {0, 0.25, 0}}, []float32{nan, 0, nan}},
		{"square", [][]float32{{inf, -inf, 1e30, 1e-30}}, []float32{inf, inf, inf, 0}},
		{"copy_inplace", [][]float32{{inf, nan, least, -inf}}, []float32{inf, nan, least, -inf}},
	} {
		n := len(c.want)
		got := single(t, c.kernel, metal.Size{X: n}, nil, append(c.buffers, make([]float32, n))...)
		for i := range got {
			if !same(float64(got[i]), float64(c.want[i])) {
				t.Errorf("%s: value %d is %v, want %v", c.kernel, i, got[i], c.want[i])
			}
		}
	}
}

func TestSoftmaxNeitherOverflowsNorHidesNaN(t *testing.T) {
	t.Parallel()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ x, want []float32 }{
		{[]float32{1e30, -1e30, 0}, []float32{1, 0, 0}},
		{[]float32{1000, 1000}, []float32{0.5, 0.5}},
		{[]float32{-inf, 0}, []float32{0, 1}},
		{[]float32{-inf, -inf}, []float32{nan, nan}},
		{[]float32{inf, 0}, []float32{nan, nan}},
		{[]float32{nan, 0}, []float32{nan, nan}},
		{[]float32{0, nan}, []float32{nan, nan}},
	} {
		params := [][]byte{kernels.Int32Bytes(1), kernels.Int32Bytes(int32(len(c.x)))}
		got := single(t, "softmax", metal.Size{X: 1}, params, c.x, make([]float32, len(c.x)))
		for i := range got {
			if !same(float64(got[i]), float64(c.want[i])) {
				t.Errorf("softmax of %v is %v, want %v", c.x, got, c.want)
				break
			}
		}
	}
}

// A float32 sum would stop at 2^24.
func TestSumsKeepTheirDigits(t *testing.T) {
	t.Parallel()
	const n = 1<<24 + 4096
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	params := [][]byte{kernels.Int32Bytes(1), kernels.Int32Bytes(n), kernels.Int32Bytes(1)}
	if got := single(t, "sum_axis", metal.Size{X: 1, Y: 1}, params, x, make([]float32, 1))[0]; got != n {
		t.Errorf("the sum of %d ones is %.0f", n, got)
	}
}

func TestAdamWithoutAGradientOnlyDecays(t *testing.T) {
	t.Parallel()
	k, _ := kernels.ByName("adam_step")
	args := make([][]byte, 0, len(k.Args))
	// w g m v lr b1 b2 b1t b2t eps wd
	for _, v := range []float32{2, 0, 0, 0, 0.5, 0.9, 0.999, 0.9, 0.999, 1e-3, 0.25} {
		args = append(args, kernels.Float32Bytes(v))
	}
	if err := k.Run(kernels.Call{Grid: metal.Size{X: 1}, Args: args}); err != nil {
		t.Fatal(err)
	}
	w, err := kernels.AsF32(args[0])
	if err != nil {
		t.Fatal(err)
	}
	if w[0] != 1.75 {
		t.Errorf("the weight is %v, want 2 - 0.5 x 0.25 x 2", w[0])
	}
}
