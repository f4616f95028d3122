package tensor

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/pool"
)

// counters are what one operation is held by.
type counters struct{ commands, ints, floats int64 }

func countersOf(rt *Runtime) (c counters) {
	c.commands = rt.Stats().Commands
	for _, class := range rt.Pool().Classes() {
		switch asked := int64(class.Hits + class.Misses); class.Class.Kind {
		case pool.KindInt:
			c.ints += asked
		case pool.KindFloat:
			c.floats += asked
		}
	}
	return c
}

// TestEachOfTheTwelveOperationsCountsOnceWithItsParameters is ML-05 and ML-06 of the
// investigation, on the kernels themselves: linear_bwd has two dispatches and counts
// once, with the parameters of one.
func TestEachOfTheTwelveOperationsCountsOnceWithItsParameters(t *testing.T) {
	t.Parallel()
	rt, d := onSoft(t, "neatml")
	layer := must(rt.NewLinear("layer", 2, 3, kernels.ActTanh, rand.New(rand.NewPCG(1, 1))))(t)
	err := rt.Scope(func() error {
		x := must(rt.From("x", []float32{1, 2, 3, 4}, 2, 2))(t)
		other := must(rt.From("other", []float32{1, 2, 3, 4}, 2, 2))(t)
		y := must(layer.Forward(x))(t)
		raw := func(kernel string, grid metal.Size, args ...any) func() error {
			return func() error { return rt.machine.encode(kernel, call{kernel, grid, args}) }
		}
		square := metal.Size{X: 2, Y: 2}
		for _, op := range []struct {
			name         string
			ints, floats int64
			do           func() error
		}{
			{"linear_fwd", 4, 0, func() error { return second(layer.Forward(x)) }},
			{"linear_bwd", 4, 0, func() error { return second(layer.Backward(y)) }},
			{"adam_step", 0, 7, raw("adam_step", over(4), x.store, other.store, y.store, y.store, float32(0),
				float32(0), float32(0), float32(0), float32(0), float32(1), float32(0))},
			{"mse_grad", 0, 1, func() error { return second(rt.MSEGrad(x, other, 1)) }},
			{"matmul", 3, 0, raw("matmul", square, x.store, other.store, y.store, int32(2), int32(2),
				int32(2))},
			{"add", 0, 0, func() error { return second(rt.Add(x, other)) }},
			{"relu", 0, 0, func() error { return second(rt.ReLU(x)) }},
			{"sigmoid", 0, 0, func() error { return second(rt.Sigmoid(x)) }},
			{"tanh", 0, 0, func() error { return second(rt.Tanh(x)) }},
			{"transpose", 2, 0, raw("mat_transpose", square, x.store, other.store, int32(2), int32(2))},
			{"add_bias", 1, 0, raw("add_bias", square, x.store, other.store, int32(2))},
			{"copy_inplace", 0, 0, func() error { return rt.Copy(x, other) }},
		} {
			before := countersOf(rt)
			if err := op.do(); err != nil {
				t.Errorf("%s: %v", op.name, err)
			}
			got := countersOf(rt)
			got.commands, got.ints, got.floats = got.commands-before.commands, got.ints-before.ints,
				got.floats-before.floats
			if want := (counters{1, op.ints, op.floats}); got != want {
				t.Errorf("%s: %+v, want %+v", op.name, got, want)
			}
		}
		return rt.Sync()
	})
	for _, err := range []error{err, layer.Release(), rt.Close(), d.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestAdamTakesTheStepsOfItsFormula holds each step against the formula in float64, with
// NEATML's constants (ML-13): decay apart from the gradient, and both moments corrected.
func TestAdamTakesTheStepsOfItsFormula(t *testing.T) {
	onBoth(t, func(t *testing.T, rt *Runtime) {
		const rate, beta1, beta2, epsilon, decay = 0.01, 0.9, 0.999, 1e-3, 0.01
		layer := must(rt.NewLinear("layer", 1, 1, kernels.ActNone, rand.New(rand.NewPCG(1, 1))))(t)
		adam, m, v := NewAdam(rate), 0., 0.
		want := float64(must(layer.w.value.Values())(t)[0])
		for step, g := range []float64{0.5, -0.002, 3, 0} {
			if err := layer.w.grad.Set([]float32{float32(g)}); err != nil {
				t.Fatal(err)
			}
			if err := adam.Step(layer); err != nil {
				t.Fatal(err)
			}
			m, v = beta1*m+(1-beta1)*g, beta2*v+(1-beta2)*g*g
			n := float64(step + 1)
			want -= rate*decay*want + rate*(m/(1-math.Pow(beta1,
				n)))/(math.Sqrt(v/(1-math.Pow(beta2, n)))+epsilon)
			if got := float64(must(layer.w.value.Values())(t)[0]); math.Abs(got-want) > 1e-6 {
				t.Errorf("after step %d the weight is %.9f, want %.9f", step+1, got, want)
			}
			if rest := must(layer.w.grad.Values())(t)[0]; rest != 0 {
				t.Errorf("after step %d the gradient is %g", step+1, rest)
			}
		}
		if err := layer.Release(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCleanupWaitsAndEmptiesBothPoolsOfParameters is ML-04: kernels stay compiled.
func TestCleanupWaitsAndEmptiesBothPoolsOfParameters(t *testing.T) {
	t.Parallel()
	rt, d := onSoft(t, "neatml")
	err := rt.Scope(func() error {
		x := must(rt.From("x", []float32{1, 2}, 2))(t)
		affine := call{"affine", over(2), []any{x.store, x.store, float32(2), float32(1)}}
		bias := call{"add_bias", over(2), []any{x.store, x.store, int32(2)}}
		return errors.Join(rt.machine.encode("affine", affine), rt.machine.encode("add_bias", bias))
	})
	if err != nil {
		t.Fatal(err)
	}
	kernels := d.Usage().Pipelines
	if s := rt.Pool().Stats(); s.Pending.Count != 4 { // three parameters and x
		t.Errorf("before: %+v", s)
	}
	if err := rt.Cleanup(); err != nil {
		t.Fatal(err)
	}
	s, b := rt.Pool().Stats(), rt.Batch().Stats()
	// The tensor's buffer is of neither.
	if s.Purged.Count != 3 || s.Idle.Count != 1 || s.Pending.Count != 0 || b.Pending != 0 ||
		b.InFlight != 0 ||
		kernels == 0 || d.Usage().Pipelines != kernels {
		t.Errorf("after: %+v, %+v, %d of %d kernels", s, b, d.Usage().Pipelines, kernels)
	}
	for _, err := range []error{rt.Close(), d.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
}
