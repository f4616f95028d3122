package tensor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/metal"
)

// result makes the output of an operation and encodes it.
func (rt *Runtime) result(op string, shape []int, calls func(y storage) call) (*Tensor, error) {
	y, err := rt.New(op, shape...)
	if err != nil {
		return nil, err
	}
	if err := rt.machine.encode(op, calls(y.store)); err != nil {
		return nil, errors.Join(err, y.Release())
	}
	return y, nil
}

// unary is y = kernel(x) value by value. The kernel of its gradient reads the input or,
// with ofOutput, the output.
type unary struct {
	kernel, backward string
	ofOutput         bool
}

func (u unary) of(rt *Runtime, x *Tensor) (*Tensor, error) {
	y, err := rt.result(u.kernel, x.shape, func(y storage) call {
		return call{u.kernel, over(x.Len()), []any{x.store, y}}
	})
	if err != nil {
		return nil, err
	}
	cached := x
	if u.ofOutput {
		cached = y
	}
	return y, track(y, u.kernel, []*Tensor{x}, []*Tensor{cached},
		func(n *node, dy *Tensor) ([]*Tensor, error) {
			dx, err := rt.result(u.backward, dy.shape, func(dx storage) call {
				return call{u.backward, over(dy.Len()), []any{dy.store, n.saved[0].store, dx}}
			})
			return []*Tensor{dx}, err
		})
}

// ReLU is max(x, 0).
func (rt *Runtime) ReLU(x *Tensor) (*Tensor, error) {
	return unary{"relu", "relu_bwd", true}.of(rt, x)
}

// Sigmoid is 1 / (1 + exp(-x)).
func (rt *Runtime) Sigmoid(x *Tensor) (*Tensor, error) {
	return unary{"sigmoid", "sigmoid_bwd", true}.of(rt, x)
}

// Tanh is the hyperbolic tangent.
func (rt *Runtime) Tanh(x *Tensor) (*Tensor, error) {
	return unary{"tanh", "tanh_bwd", true}.of(rt, x)
}

// Square is x².
func (rt *Runtime) Square(x *Tensor) (*Tensor, error) {
	return unary{"square", "square_bwd", false}.of(rt, x)
}

// Affine is a x + b.
func (rt *Runtime) Affine(x *Tensor, a, b float32) (*Tensor, error) {
	affine := func(of *Tensor, b float32) (*Tensor, error) {
		return rt.result("affine", of.shape, func(y storage) call {
			return call{"affine", over(of.Len()), []any{of.store, y, a, b}}
		})
	}
	y, err := affine(x, b)
	if err != nil {
		return nil, err
	}
	return y, track(y, "affine", []*Tensor{x}, nil, func(_ *node, dy *Tensor) ([]*Tensor, error) {
		dx, err := affine(dy, 0)
		return []*Tensor{dx}, err
	})
}

// pairwise is a kernel c = kernel(a, b), value by value.
type pairwise string

func (kernel pairwise) of(rt *Runtime, a, b *Tensor) (*Tensor, error) {
	name := string(kernel)
	if !slices.Equal(a.shape, b.shape) {
		return nil, fmt.Errorf("%s of %v and %v: %w", name, a.shape, b.shape, ErrShape)
	}
	return rt.result(name, a.shape, func(c storage) call {
		return call{name, over(a.Len()), []any{a.store, b.store, c}}
	})
}

// Add is a + b, of equal shapes.
func (rt *Runtime) Add(a, b *Tensor) (*Tensor, error) {
	c, err := pairwise("add").of(rt, a, b)
	if err != nil {
		return nil, err
	}
	return c, track(c, "add", []*Tensor{a, b}, nil, func(n *node, dy *Tensor) ([]*Tensor, error) {
		grads := make([]*Tensor, 2)
		for i, in := range n.inputs {
			if in == nil {
				continue
			}
			var err error
			// A copy, since gradients are accumulated in place.
			if grads[i], err = duplicate(rt, dy); err != nil {
				return nil, err
			}
		}
		return grads, nil
	})
}

// Mul is a b, value by value, of equal shapes.
func (rt *Runtime) Mul(a, b *Tensor) (*Tensor, error) {
	c, err := pairwise("mul").of(rt, a, b)
	if err != nil {
		return nil, err
	}
	return c, track(c, "mul", []*Tensor{a, b}, []*Tensor{a, b},
		func(n *node, dy *Tensor) ([]*Tensor, error) {
			grads := make([]*Tensor, 2)
			for i, in := range n.inputs {
				if in == nil {
					continue
				}
				var err error
				if grads[i], err = pairwise("mul").of(rt, dy, n.saved[1-i]); err != nil {
					return nil, err
				}
			}
			return grads, nil
		})
}

// Softmax is the softmax of each row of a matrix.
func (rt *Runtime) Softmax(x *Tensor) (*Tensor, error) {
	if len(x.shape) != 2 {
		return nil, fmt.Errorf("softmax of %v: %w", x.shape, ErrShape)
	}
	rows, cols := int32(x.shape[0]), int32(x.shape[1])
	y, err := rt.result("softmax", x.shape, func(y storage) call {
		return call{"softmax", over(int(rows)), []any{x.store, y, rows, cols}}
	})
	if err != nil {
		return nil, err
	}
	return y, track(y, "softmax", []*Tensor{x}, []*Tensor{y},
		func(n *node, dy *Tensor) ([]*Tensor, error) {
			dx, err := rt.result("softmax_bwd", dy.shape, func(dx storage) call {
				return call{"softmax_bwd", over(int(rows)), []any{dy.store, n.saved[0].store, dx, rows, cols}}
			})
			return []*Tensor{dx}, err
		})
}

// SumAxis sums over one axis, which leaves the shape; the sum of the only axis
// has shape [1].
func (rt *Runtime) SumAxis(x *Tensor, axis int) (*Tensor, error) {
	if axis < 0 || axis >= len(x.shape) {
		return nil, fmt.Errorf("sum over axis %d of %v: %w", axis, x.shape, ErrShape)
	}
	shape := slices.Delete(slices.Clone(x.shape), axis, axis+1)
	if len(shape) == 0 {
		shape = []int{1}
	}
	outer, inner := elements(x.shape[:axis]), elements(x.shape[axis+1:])
	return reduction{outer, x.shape[axis], inner}.sum(rt, x, shape)
}

// Sum is the sum of all values, of shape [1].
func (rt *Runtime) Sum(x *Tensor) (*Tensor, error) {
	return reduction{1, x.Len(), 1}.sum(rt, x, []int{1})
}

// reduction takes one axis out of [outer, axis, inner].
type reduction struct{ outer, axis, inner int }

func (r reduction) sum(rt *Runtime, x *Tensor, shape []int) (*Tensor, error) {
	grid := metal.Size{X: r.inner, Y: r.outer}
	dims := []any{int32(r.outer), int32(r.axis), int32(r.inner)}
	y, err := rt.result("sum_axis", shape, func(y storage) call {
		return call{"sum_axis", grid, append([]any{x.store, y}, dims...)}
	})
	if err != nil {
		return nil, err
	}
	from := x.shape
	return y, track(y, "sum_axis", []*Tensor{x}, nil, func(_ *node, dy *Tensor) ([]*Tensor, error) {
		dx, err := rt.result("sum_axis_bwd", from, func(dx storage) call {
			return call{"sum_axis_bwd", grid, append([]any{dy.store, dx}, dims...)}
		})
		return []*Tensor{dx}, err
	})
}

// MulBroadcast multiplies a [inner…] with each of b's [outer, inner…]; b gets
// no gradient: it is a mask.
func (rt *Runtime) MulBroadcast(a, b *Tensor) (*Tensor, error) {
	if len(b.shape) == 0 || !slices.Equal(a.shape, b.shape[1:]) || b.node != nil {
		return nil, fmt.Errorf("broadcast %v over %v: %w", a.shape, b.shape, ErrShape)
	}
	outer, inner := b.shape[0], a.Len()
	dims := []any{int32(outer), int32(inner)}
	c, err := rt.result("mul_broadcast", b.shape, func(c storage) call {
		return call{"mul_broadcast", metal.Size{X: inner, Y: outer},
			append([]any{a.store, b.store, c}, dims...)}
	})
	if err != nil {
		return nil, err
	}
	shape := a.shape
	return c, track(c, "mul_broadcast", []*Tensor{a}, []*Tensor{b},
		func(n *node, dc *Tensor) ([]*Tensor, error) {
			da, err := rt.result("mul_broadcast_bwd", shape, func(da storage) call {
				return call{"mul_broadcast_bwd", over(inner),
					append([]any{dc.store, n.saved[0].store, da}, dims...)}
			})
			return []*Tensor{da}, err
		})
}

// Axpy is y += a x in place, outside every graph: gradient descent is
// Axpy(grad, parameter, -rate).
func (rt *Runtime) Axpy(x, y *Tensor, a float32) error {
	if x.Len() != y.Len() {
		return fmt.Errorf("axpy of %v onto %v: %w", x.shape, y.shape, ErrShape)
	}
	return rt.machine.encode("axpy", call{"axpy", over(x.Len()), []any{x.store, y.store, a}})
}

// Copy overwrites dst with src.
func (rt *Runtime) Copy(dst, src *Tensor) error {
	if src.Len() != dst.Len() {
		return fmt.Errorf("copy %v over %v: %w", src.shape, dst.shape, ErrShape)
	}
	return rt.machine.encode("copy_inplace",
		call{"copy_inplace", over(src.Len()), []any{src.store, dst.store}})
}

// duplicate is a tensor with the values of x.
func duplicate(rt *Runtime, x *Tensor) (*Tensor, error) {
	return rt.result("copy_inplace", x.shape, func(y storage) call {
		return call{"copy_inplace", over(x.Len()), []any{x.store, y}}
	})
}
