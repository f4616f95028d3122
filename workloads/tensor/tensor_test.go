package tensor

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/kernels"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
)

// onBoth runs a test on the soft device and on the host, and checks that the
// test gave everything back.
func onBoth(t *testing.T, test func(t *testing.T, rt *Runtime)) {
	t.Helper()
	t.Run("host", func(t *testing.T) {
		t.Parallel()
		rt, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		test(t, rt)
		if s := rt.Stats(); s.LiveCount != 0 || rt.LiveTensors() != 0 {
			t.Errorf("%d blocks and %d tensors are left: %+v", s.LiveCount, rt.LiveTensors(), rt.Holders())
		}
	})
	t.Run("soft", func(t *testing.T) {
		t.Parallel()
		rt, d := onSoft(t, "default")
		test(t, rt)
		if err := rt.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Errorf("close device: %v", err)
		}
	})
}

func onSoft(t *testing.T, policy string, faults ...pool.Fault) (*Runtime, *soft.Device) {
	t.Helper()
	d, err := soft.Open(soft.Options{WorkingSet: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pool.PolicyByName(policy)
	if err != nil {
		t.Fatal(err)
	}
	rt, err := New(Options{Device: d, Policy: p, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	return rt, d
}

// must fails the test on an error.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// formula uses every operation that has a gradient.
func formula(t *testing.T, rt *Runtime, x, mask *Tensor) *Tensor {
	t.Helper()
	p := must(rt.Softmax(x))(t)
	diagonals := must(rt.SumAxis(must(rt.SumAxis(must(rt.MulBroadcast(p, mask))(t), 2))(t), 1))(t)
	a := must(rt.Sum(must(rt.Square(must(rt.ReLU(must(rt.Affine(diagonals, 1, -0.3))(t)))(t)))(t)))(t)
	s := must(rt.Sum(must(rt.Mul(must(rt.Sigmoid(x))(t), must(rt.Tanh(x))(t)))(t)))(t)
	return must(rt.Add(a, must(rt.Affine(s, 0.25, 1))(t)))(t)
}

func TestGradientsAgreeWithDifferences(t *testing.T) {
	onBoth(t, func(t *testing.T, rt *Runtime) {
		rng := rand.New(rand.NewPCG(1, 2))
		const n = 4
		at, ones := make([]float32, n*n), make([]float32, 3*n*n)
		for i := range at {
			at[i] = float32(rng.NormFloat64())
		}
		for i := range ones {
			ones[i] = float32(rng.IntN(2))
		}
		value := func(x []float32, grad bool) (loss float64, g []float32) {
			err := rt.Scope(func() error {
				x := must(rt.From("x", x, n, n))(t).RequireGrad()
				mask := must(rt.From("mask", ones, 3, n, n))(t)
				l := formula(t, rt, x, mask)
				if grad {
					if err := rt.Backward(l); err != nil {
						return err
					}
					g = must(x.Grad().Values())(t)
				}
				loss = float64(must(l.Values())(t)[0])
				return x.ZeroGrad()
			})
			if err != nil {
				t.Fatal(err)
			}
			return loss, g
		}
		_, g := value(at, true)
		const h = 1e-2
		for i := range at {
			up, down := append([]float32(nil), at...), append([]float32(nil), at...)
			up[i] += h
			down[i] -= h
			above, _ := value(up, false)
			below, _ := value(down, false)
			want := (above - below) / (2 * h)
			if d := math.Abs(float64(g[i]) - want); d > 2e-3*(1+math.Abs(want)) {
				t.Errorf("gradient %d is %v, by differences %v", i, g[i], want)
			}
		}
	})
}

func TestSharingAddsAReferenceAndNeverCopies(t *testing.T) {
	onBoth(t, func(t *testing.T, rt *Runtime) {
		a := must(rt.From("a", []float32{1, 2}, 2))(t)
		allocs := rt.Stats().Allocs
		b := must(a.Share())(t)
		if a.Refs() != 2 || rt.Stats().Allocs != allocs {
			t.Errorf("%d references, %d allocations more", a.Refs(), rt.Stats().Allocs-allocs)
		}
		if err := a.Release(); err != nil {
			t.Fatal(err)
		}
		if got := must(b.Values())(t); got[1] != 2 {
			t.Errorf("the shared memory reads %v", got)
		}
		if err := a.Release(); !errors.Is(err, errReleased) {
			t.Errorf("second release: %v", err)
		}
		if err := b.Release(); err != nil {
			t.Fatal(err)
		}
		if got := rt.CloneAudit(); len(got) != 1 || got[0].Increments != 1 ||
			!strings.Contains(got[0].Site, "tensor_test.go") {
			t.Errorf("clone audit %+v", got)
		}
	})
}

func TestAScopeReleasesWhatWasNotKept(t *testing.T) {
	onBoth(t, func(t *testing.T, rt *Runtime) {
		var kept *Tensor
		err := rt.Scope(func() error {
			must(rt.New("left", 8))(t)
			kept = must(rt.New("kept", 8))(t).Keep()
			return rt.Scope(func() error {
				must(rt.New("inner", 8))(t)
				return nil
			})
		})
		if err != nil || rt.LiveTensors() != 1 {
			t.Errorf("%v, %d tensors live", err, rt.LiveTensors())
		}
		if err := kept.Release(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAnUncutGraphIsHeldByItsTotalAlone is the planted fault: it holds every
// epoch's tensors, and releasing the one total gives all of them back, however
// deep the graph is.
func TestAnUncutGraphIsHeldByItsTotalAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, rt *Runtime) {
		const epochs = 2000
		x := must(rt.From("x", []float32{1, 2, 3}, 3))(t).RequireGrad()
		total := must(rt.Sum(must(rt.Square(x))(t)))(t)
		for range epochs {
			err := rt.Scope(func() error {
				next := must(rt.Add(total, must(rt.Sum(must(rt.Square(x))(t)))(t)))(t)
				err := total.Release()
				total = next.Keep()
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if refs := x.Refs(); refs < epochs {
			t.Errorf("%d references to x, each epoch keeps one", refs)
		}
		if top := rt.Holders()[0]; !strings.HasPrefix(top.Path, "graph: ") || top.Count < epochs {
			t.Errorf("largest holder %+v", top)
		}
		for _, held := range []*Tensor{total, x} {
			if err := held.Release(); err != nil {
				t.Fatal(err)
			}
		}
		releaseRest(t, rt)
	})
}

// releaseRest releases the program's own tensors made outside every scope.
func releaseRest(t *testing.T, rt *Runtime) {
	t.Helper()
	var own []*Tensor
	for held := range rt.live.tensors {
		if held.holder != heldByGraph { // those go with their node
			own = append(own, held)
		}
	}
	for _, held := range own {
		if err := held.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestABatchOfTwoLayersIsThirteenCommands is ML-16 of the investigation.
func TestABatchOfTwoLayersIsThirteenCommands(t *testing.T) {
	onBoth(t, func(t *testing.T, rt *Runtime) {
		rng := rand.New(rand.NewPCG(1, 1))
		first := must(rt.NewLinear("hidden", 2, 4, kernels.ActTanh, rng))(t)
		second := must(rt.NewLinear("output", 4, 1, kernels.ActSigmoid, rng))(t)
		adam := NewAdam(0.01)
		err := rt.Scope(func() error {
			x := must(rt.From("x", []float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2))(t)
			want := must(rt.From("t", []float32{0, 1, 1, 0}, 4, 1))(t)
			before := rt.Stats().Commands
			y := must(second.Forward(must(first.Forward(x))(t)))(t)
			must(first.Backward(must(second.Backward(must(rt.MSEGrad(y, want, 1))(t)))(t)))(t)
			if err := adam.Step(first, second); err != nil {
				return err
			}
			if n := rt.Stats().Commands - before; n != 13 {
				t.Errorf("%d commands", n)
			}
			return rt.Sync()
		})
		if err = errors.Join(err, first.Release(), second.Release()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestShapesThatDoNotFitAreErrors(t *testing.T) {
	onBoth(t, func(t *testing.T, rt *Runtime) {
		err := rt.Scope(func() error {
			a, b := must(rt.New("a", 2, 3))(t), must(rt.New("b", 3, 2))(t)
			for what, err := range map[string]error{
				"add":       second(rt.Add(a, b)),
				"mul":       second(rt.Mul(a, b)),
				"broadcast": second(rt.MulBroadcast(a, b)),
				"axis":      second(rt.SumAxis(a, 2)),
				"set":       a.Set([]float32{1}),
				"empty":     second(rt.New("c", 0)),
				"negative":  second(rt.New("c", -1, 2)),
				"backward":  rt.Backward(a),
			} {
				if !errors.Is(err, ErrShape) {
					t.Errorf("%s: %v", what, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func second(_ *Tensor, err error) error { return err }
