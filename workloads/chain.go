package workloads

import "github.com/gpumem/gpumem/workloads/tensor"

// chain computes a formula and keeps the first error, after which every step
// does nothing.
type chain struct {
	rt  *tensor.Runtime
	err error
}

func (c *chain) one(t *tensor.Tensor, err error) *tensor.Tensor {
	if c.err == nil {
		c.err = err
	}
	return t
}

func (c *chain) do(f func() (*tensor.Tensor, error)) *tensor.Tensor {
	if c.err != nil {
		return nil
	}
	return c.one(f())
}

func (c *chain) sum(x *tensor.Tensor, axis int) *tensor.Tensor {
	return c.do(func() (*tensor.Tensor, error) { return c.rt.SumAxis(x, axis) })
}

func (c *chain) total(x *tensor.Tensor) *tensor.Tensor {
	return c.do(func() (*tensor.Tensor, error) { return c.rt.Sum(x) })
}

func (c *chain) affine(x *tensor.Tensor, a, b float32) *tensor.Tensor {
	return c.do(func() (*tensor.Tensor, error) { return c.rt.Affine(x, a, b) })
}

func (c *chain) relu(x *tensor.Tensor) *tensor.Tensor {
	return c.do(func() (*tensor.Tensor, error) { return c.rt.ReLU(x) })
}

func (c *chain) mul(a, b *tensor.Tensor) *tensor.Tensor {
	return c.do(func() (*tensor.Tensor, error) { return c.rt.Mul(a, b) })
}

func (c *chain) add(a, b *tensor.Tensor) *tensor.Tensor {
	return c.do(func() (*tensor.Tensor, error) { return c.rt.Add(a, b) })
}

// squares is the sum of the squares.
func (c *chain) squares(x *tensor.Tensor) *tensor.Tensor {
	return c.total(c.do(func() (*tensor.Tensor, error) { return c.rt.Square(x) }))
}

// onDiagonals is how many queens are expected on each diagonal of the mask:
// the product over [15, 8, 8], summed over columns, then over rows.
func (c *chain) onDiagonals(p, mask *tensor.Tensor) *tensor.Tensor {
	product := c.do(func() (*tensor.Tensor, error) { return c.rt.MulBroadcast(p, mask) })
	return c.sum(c.sum(product, 2), 1)
}
