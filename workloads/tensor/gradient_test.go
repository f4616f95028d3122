package tensor

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpumem/gpumem/metal/kernels"
)

// network is two layers and a batch.
type network struct {
	rt            *Runtime
	first, second *Linear
	x, want       []float32
	rows, in, out int
}

// loss is the mean squared error over the batch.
func (n *network) loss(t *testing.T) (loss float64) {
	t.Helper()
	err := n.rt.Scope(func() error {
		x := must(n.rt.From("x", n.x, n.rows, n.in))(t)
		got := must(must(n.second.Forward(must(n.first.Forward(x))(t)))(t).Values())(t)
		for i := range got {
			loss += math.Pow(float64(got[i])-float64(n.want[i]), 2) / float64(len(got))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

// gradients are those of the parameters, and of the batch's inputs.
func (n *network) gradients(t *testing.T) (inputs []float32) {
	t.Helper()
	err := n.rt.Scope(func() error {
		x := must(n.rt.From("x", n.x, n.rows, n.in))(t)
		want := must(n.rt.From("want", n.want, n.rows, n.out))(t)
		y := must(n.second.Forward(must(n.first.Forward(x))(t)))(t)
		dy := must(n.rt.MSEGrad(y, want, n.out))(t)
		inputs = must(must(n.first.Backward(must(n.second.Backward(dy))(t)))(t).Values())(t)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return inputs
}

// slope is the loss's change when a value is moved to both sides, by as much as
// float32 can tell.
func (n *network) slope(t *testing.T, values []float32, i int, set func()) float64 {
	t.Helper()
	const step = 1e-2
	was := values[i]
	side := func(d float32) float64 {
		values[i] = was + d
		set()
		return n.loss(t)
	}
	rise := side(step) - side(-step)
	values[i] = was
	set()
	return rise / (2 * step)
}

// isSlope reports that a gradient is the slope, but for what float32 loses.
func isSlope(got float32, want float64) bool {
	return math.Abs(float64(got)-want) <= 2e-3+0.02*math.Abs(want)
}

// TestTheGradientsOfEachLayerAreTheSlopesOfTheLoss holds every gradient against
// differences of the loss, with every activation and a batch of several rows: a
// factor of the batch too many or too few fails it.
func TestTheGradientsOfEachLayerAreTheSlopesOfTheLoss(t *testing.T) {
	for _, acts := range [][2]kernels.Activation{
		{kernels.ActTanh, kernels.ActSigmoid}, {kernels.ActReLU, kernels.ActTanh}, {kernels.ActNone, kernels.ActNone},
	} {
		onBoth(t, func(t *testing.T, rt *Runtime) {
			rng := rand.New(rand.NewPCG(3, 4))
			n := network{rt: rt, rows: 6, in: 3, out: 2}
			n.first = must(rt.NewLinear("first", n.in, 4, acts[0], rng))(t)
			n.second = must(rt.NewLinear("second", 4, n.out, acts[1], rng))(t)
			n.x, n.want = uniform(rng, n.rows*n.in, 1), uniform(rng, n.rows*n.out, 1)
			inputs := n.gradients(t)
			for i := range inputs {
				// Of each row, as no layer before it has taken the mean yet.
				want := float64(n.rows) * n.slope(t, n.x, i, func() {})
				if !isSlope(inputs[i], want) {
					t.Errorf("input %d: gradient %g, slope %g", i, inputs[i], want)
				}
			}
			for _, l := range []*Linear{n.first, n.second} {
				for _, p := range []*parameter{&l.w, &l.b} {
					n.check(t, p)
				}
			}
			if err := n.first.Release(); err != nil {
				t.Fatal(err)
			}
			if err := n.second.Release(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// check holds the gradient of each value of a parameter against the slope.
func (n *network) check(t *testing.T, p *parameter) {
	t.Helper()
	values, grad := must(p.value.Values())(t), must(p.grad.Values())(t)
	set := func() {
		if err := p.value.Set(values); err != nil {
			t.Fatal(err)
		}
	}
	for i := range values {
		if want := n.slope(t, values, i, set); !isSlope(grad[i], want) {
			t.Errorf("%s %d: gradient %g, slope %g", p.value.Name(), i, grad[i], want)
		}
	}
}
