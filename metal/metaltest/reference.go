package metaltest

import (
	"math"
	"strings"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// problem is one launch of a kernel.
type problem struct {
	grid   metal.Size
	params []float64 // in the order of the kernel's arguments
	sizes  []int     // elements of each buffer; bytes of a packed one
}

// launch is a problem with its memory: what a reference reads and fills.
type launch struct {
	problem
	// args are the buffers' values before the launch, by argument; nil for a
	// packed one, which is in packed.
	args   [][]float64
	packed []byte
	// out are the expected values of each buffer after it; a reference sets
	// those that the kernel writes.
	out [][]estimate
}

func (l *launch) set(arg, i int, e estimate) { l.out[arg][i] = e }

// param is parameter i as the integer that it is.
func (l *launch) param(i int) int { return int(l.params[i]) }

// reference computes a kernel in float64.
type reference struct {
	problems []problem
	fill     func(*launch)
	// positive is the argument whose values must not be negative, -1 for none.
	positive int
}

// referenceOf is the reference of a kernel; ok is false when there is none.
func referenceOf(k kernels.Kernel) (r reference, ok bool) {
	for _, find := range []func(string) (reference, bool){elementwise, activations, matrix, reduction,
		languageModel} {
		if r, ok = find(k.Name); ok {
			return r, true
		}
	}
	return decoding(k)
}

// widths are the grids of kernels with one thread a value: none given, a few,
// and more than a core's share.
var widths = [...]int{0, 1, 5, 1000, 70_000}

// each makes the reference of a kernel with one thread a value.
func each(buffers int, params []float64, value func(l *launch, i int)) (reference, bool) {
	r := reference{positive: -1}
	for _, n := range widths {
		p := problem{grid: metal.Size{X: n}, params: params}
		for range buffers {
			p.sizes = append(p.sizes, max(n, 1))
		}
		r.problems = append(r.problems, p)
	}
	r.fill = func(l *launch) {
		for i := range max(l.grid.X, 1) {
			value(l, i)
		}
	}
	return r, true
}

// single32 are parameters as a float32 holds them.
func single32(params ...float64) []float64 {
	for i, p := range params {
		params[i] = float64(float32(p))
	}
	return params
}

func elementwise(name string) (reference, bool) {
	binary := func(f func(a, b float64) estimate) (reference, bool) {
		return each(3, nil, func(l *launch, i int) { l.set(2, i, f(l.args[0][i], l.args[1][i])) })
	}
	switch name {
	case "add":
		return binary(func(a, b float64) estimate { return sum(plain(a), plain(b)) })
	case "sub":
		return binary(func(a, b float64) estimate { return sum(plain(a), plain(-b)) })
	case "mul":
		return binary(func(a, b float64) estimate { return near(a*b, 1) })
	case "square_bwd":
		return binary(func(dy, x float64) estimate { return near(2*x*dy, 1) })
	case "mse_grad":
		return each(3, single32(12), func(l *launch, i int) {
			p, t, n := l.args[0][i], l.args[1][i], l.params[0]
			l.set(2, i, sum(plain(2*p/n), plain(-2*t/n)))
		})
	case "square":
		return each(2, nil, func(l *launch, i int) { l.set(1, i, near(l.args[0][i]*l.args[0][i], 1)) })
	case "affine":
		return each(2, single32(-1.7, 0.3), func(l *launch, i int) {
			l.set(1, i, sum(plain(l.params[0]*l.args[0][i]), plain(l.params[1])))
		})
	case "axpy":
		return each(2, single32(-0.05), func(l *launch, i int) {
			l.set(1, i, sum(plain(l.params[0]*l.args[0][i]), plain(l.args[1][i])))
		})
	case "copy_inplace":
		return each(2, nil, func(l *launch, i int) { l.set(1, i, exact(l.args[0][i])) })
	case "fill":
		return each(1, single32(0.1), func(l *launch, i int) { l.set(0, i, exact(l.params[0])) })
	case "adam_step":
		r, _ := each(4, single32(0.01, 0.9, 0.999, 0.81, 0.998001, 1e-3, 0.01), adam)
		r.positive = 3
		return r, true
	}
	return reference{}, false
}

// adam is one value of a step: the moments, then the weight with decoupled
// decay.
func adam(l *launch, i int) {
	w, g, m, v := l.args[0][i], l.args[1][i], l.args[2][i], l.args[3][i]
	lr, b1, b2, b1t, b2t, eps, wd := l.params[0], l.params[1], l.params[2], l.params[3], l.params[4],
		l.params[5], l.params[6]
	moment := sum(plain(b1*m), plain((1-b1)*g))
	square := sum(plain(b2*v), plain((1-b2)*g*g))
	below := math.Sqrt(square.value/(1-b2t)) + eps
	step := moment.value / (1 - b1t) / below
	next := sum(plain(w), plain(-lr*wd*w), plain(-lr*step))
	// 1 - b2t loses what b2t has lost: its error is one of 1, not of 1 - b2t.
	lost := unit * (1/(1-b1t) + 1/(1-b2t) + 16)
	next.slack += lr * (moment.slack/(1-b1t)/below + math.Abs(step)*lost)
	l.set(0, i, next)
	l.set(2, i, moment)
	l.set(3, i, square)
}

// decoding is the reference of the kernels that dequantise.
func decoding(k kernels.Kernel) (reference, bool) {
	for _, f := range kernels.Formats() {
		for _, to := range []kernels.Elem{kernels.F16, kernels.F32} {
			if k.Name == decoderName(f, to) {
				return decoder(f, to), true
			}
		}
	}
	return reference{}, false
}

func decoder(f kernels.Format, to kernels.Elem) reference {
	r := reference{positive: -1}
	for _, n := range []int{1, 31, 32, 33, 256, 300, 70_000} {
		blocks := (n + f.BlockValues() - 1) / f.BlockValues()
		r.problems = append(r.problems,
			problem{grid: metal.Size{X: n}, sizes: []int{blocks * f.BlockBytes(), n}})
	}
	r.fill = func(l *launch) {
		for i := range l.grid.X {
			v := DecodeValue(f, l.packed, i)
			if to == kernels.F16 {
				v = RoundToHalf(v)
			}
			l.set(1, i, exact(v))
		}
	}
	return r
}

func decoderName(f kernels.Format, to kernels.Elem) string {
	name := strings.ToLower(f.String())
	if to == kernels.F16 {
		return "dequant_" + name + "_f16"
	}
	return "dequant_" + name + "_f32"
}
