package tensor

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// Linear is a dense layer y = act(x Wᵀ + b) with its gradients and the state
// of Adam. Its tensors live until Release.
type Linear struct {
	rt       *Runtime
	in, out  int
	act      kernels.Activation
	w, b     parameter
	x, y     *Tensor // of the last Forward; the scope's
	released bool
}

// parameter is a tensor with its gradient, Adam's moments, and zeros to reset
// the gradient with.
type parameter struct{ value, grad, m, v, zero *Tensor }

// NewLinear makes a layer with weights uniform in ±sqrt(6/(in+out)) (Glorot
// and Bengio, 2010) and biases uniform in ±1/sqrt(in). With zero biases all
// ReLUs of a layer with one input would bend at the same point, and the layer
// would fit straight lines for the first hundreds of batches.
func (rt *Runtime) NewLinear(name string, in, out int, act kernels.Activation,
	rng *rand.Rand) (*Linear, error) {
	l := &Linear{rt: rt, in: in, out: out, act: act}
	weights := uniform(rng, in*out, math.Sqrt(6/float64(in+out)))
	var err error
	if l.w, err = newParameter(rt, name+".weight", weights, out, in); err != nil {
		return nil, err
	}
	biases := uniform(rng, out, 1/math.Sqrt(float64(in)))
	if l.b, err = newParameter(rt, name+".bias", biases, out); err != nil {
		return nil, errors.Join(err, l.w.release())
	}
	return l, nil
}

// uniform is n values in ±bound.
func uniform(rng *rand.Rand, n int, bound float64) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32((rng.Float64()*2 - 1) * bound)
	}
	return values
}

func newParameter(rt *Runtime, name string, values []float32, shape ...int) (p parameter, err error) {
	zeros := make([]float32, len(values))
	for _, part := range []struct {
		at     **Tensor
		name   string
		values []float32
		role   Role
	}{
		{&p.value, name, values, Parameters}, {&p.grad, name + ".grad", zeros, Gradients},
		{&p.m, name + ".m", zeros, Optimizer}, {&p.v, name + ".v", zeros, Optimizer},
		{&p.zero, name + ".zero", zeros, Buffers},
	} {
		t, err := rt.From(part.name, part.values, shape...)
		if err != nil {
			return parameter{}, errors.Join(err, p.release())
		}
		*part.at = t.Keep().As(part.role)
	}
	return p, nil
}

func (p *parameter) release() error {
	var failed error
	for _, t := range []*Tensor{p.value, p.grad, p.m, p.v, p.zero} {
		if t != nil {
			failed = errors.Join(failed, t.Release())
		}
	}
	*p = parameter{}
	return failed
}

// Release gives the layer's tensors up.
func (l *Linear) Release() error {
	if l.released {
		return fmt.Errorf("release layer: %w", errReleased)
	}
	l.released = true
	return errors.Join(l.w.release(), l.b.release())
}

func (l *Linear) params(batch int) []any {
	return []any{int32(batch), int32(l.out), int32(l.in), int32(l.act)}
}

// Forward computes the layer for a batch of rows: one command.
func (l *Linear) Forward(x *Tensor) (*Tensor, error) {
	if len(x.shape) != 2 || x.shape[1] != l.in {
		return nil, fmt.Errorf("linear %d to %d of %v: %w", l.in, l.out, x.shape, ErrShape)
	}
	batch := x.shape[0]
	y, err := l.rt.result("linear_fwd", []int{batch, l.out}, func(y storage) call {
		return call{"linear_fwd", metal.Size{X: l.out, Y: batch},
			append([]any{x.store, l.w.value.store, l.b.value.store, y}, l.params(batch)...)}
	})
	if err != nil {
		return nil, err
	}
	l.x, l.y = x, y.As(Activations) // Backward reads it
	return y, nil
}

// Backward adds the gradients of weights and bias for the last Forward, each the
// mean over the rows of dy, and returns that of its input, row by row: one
// command of two dispatches.
func (l *Linear) Backward(dy *Tensor) (*Tensor, error) {
	if l.y == nil || dy.Len() != l.y.Len() {
		return nil, fmt.Errorf("backward of linear %d to %d with %v: %w", l.in, l.out, dy.shape, ErrShape)
	}
	batch := l.x.shape[0]
	dx, err := l.rt.New("linear_bwd", batch, l.in)
	if err != nil {
		return nil, err
	}
	err = l.rt.machine.encode("linear_bwd",
		call{"linear_bwd_input", metal.Size{X: l.in, Y: batch},
			append([]any{dy.store, l.w.value.store, l.y.store, dx.store}, l.params(batch)...)},
		call{"linear_bwd_weights", metal.Size{X: l.in, Y: l.out},
			[]any{dy.store, l.x.store, l.y.store, l.w.grad.store, l.b.grad.store, same(0), same(1), same(2),
				same(3)}})
	if err != nil {
		return nil, errors.Join(err, dx.Release())
	}
	return dx, nil
}

// MSEGrad is the gradient 2 (p − t) / n of the mean squared error. Backward of a
// Linear takes the mean over the rows of the batch, so n is what is left to
// divide by: the columns of p. With all values of p as n, the gradients are too
// small by the size of the batch.
func (rt *Runtime) MSEGrad(p, t *Tensor, n int) (*Tensor, error) {
	if p.Len() != t.Len() || n <= 0 {
		return nil, fmt.Errorf("mse of %v and %v over %d: %w", p.shape, t.shape, n, ErrShape)
	}
	return rt.result("mse_grad", p.shape, func(g storage) call {
		return call{"mse_grad", over(p.Len()), []any{p.store, t.store, g, float32(n)}}
	})
}

// Adam is the optimiser of the buffer-pool investigation: decoupled weight
// decay and bias correction, with its epsilon of 1e-3.
type Adam struct {
	Rate, Beta1, Beta2, Epsilon, Decay float64
	step                               int
}

// NewAdam has the investigation's constants.
func NewAdam(rate float64) *Adam {
	return &Adam{Rate: rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-3, Decay: 0.01}
}

// Step updates the layers from their gradients, one command a parameter, and
// resets the gradients, one command each.
func (a *Adam) Step(layers ...*Linear) error {
	a.step++
	b1t, b2t := math.Pow(a.Beta1, float64(a.step)), math.Pow(a.Beta2, float64(a.step))
	for _, l := range layers {
		for _, p := range []*parameter{&l.w, &l.b} {
			err := l.rt.machine.encode("adam_step", call{"adam_step", over(p.value.Len()), []any{
				p.value.store, p.grad.store, p.m.store, p.v.store,
				float32(a.Rate), float32(a.Beta1), float32(a.Beta2), float32(b1t), float32(b2t),
				float32(a.Epsilon), float32(a.Decay),
			}})
			if err = errors.Join(err, l.rt.Copy(p.grad, p.zero)); err != nil {
				return err
			}
		}
	}
	return nil
}
