package kernels

import "math"

// grainValues is the least number of values worth another core: about 10 µs
// of the cheapest kernel against about 1 µs to wake a worker.
const grainValues = 16 << 10

func map1(c *Call, f func(x, y []float32)) {
	n := c.Grid.X
	x, y := c.f32(0, n), c.f32(1, n)
	c.parallel(n, grainValues, func(lo, hi int) { f(x[lo:hi], y[lo:hi]) })
}

func map2(c *Call, f func(a, b, y []float32)) {
	n := c.Grid.X
	a, b, y := c.f32(0, n), c.f32(1, n), c.f32(2, n)
	c.parallel(n, grainValues, func(lo, hi int) { f(a[lo:hi], b[lo:hi], y[lo:hi]) })
}

func add(c *Call) {
	map2(c, func(a, b, y []float32) {
		for i := range y {
			y[i] = a[i] + b[i]
		}
	})
}

func sub(c *Call) {
	map2(c, func(a, b, y []float32) {
		for i := range y {
			y[i] = a[i] - b[i]
		}
	})
}

func mul(c *Call) {
	map2(c, func(a, b, y []float32) {
		for i := range y {
			y[i] = a[i] * b[i]
		}
	})
}

func relu(c *Call) {
	map1(c, func(x, y []float32) {
		for i, v := range x {
			y[i] = reluOf(v)
		}
	})
}

func reluOf(v float32) float32 {
	if v < 0 {
		return 0
	}
	return v
}

func sigmoid(c *Call) {
	map1(c, func(x, y []float32) {
		for i, v := range x {
			y[i] = sigmoidOf(v)
		}
	})
}

// sigmoidOf never overflows: exp(-x) of a very negative x is +Inf, whose
// reciprocal is the right 0.
func sigmoidOf(v float32) float32 { return float32(1 / (1 + math.Exp(-float64(v)))) }

func tanh(c *Call) {
	map1(c, func(x, y []float32) {
		for i, v := range x {
			y[i] = tanhOf(v)
		}
	})
}

func tanhOf(v float32) float32 { return float32(math.Tanh(float64(v))) }

func square(c *Call) {
	map1(c, func(x, y []float32) {
		for i, v := range x {
			y[i] = v * v
		}
	})
}

func affine(c *Call) {
	a, b := c.num(2), c.num(3)
	map1(c, func(x, y []float32) {
		for i, v := range x {
			y[i] = a*v + b
		}
	})
}

func axpy(c *Call) {
	a := c.num(2)
	map1(c, func(x, y []float32) {
		for i, v := range x {
			y[i] += a * v
		}
	})
}

func copyInplace(c *Call) {
	map1(c, func(x, y []float32) { copy(y, x) })
}

func fill(c *Call) {
	n, v := c.Grid.X, c.num(1)
	y := c.f32(0, n)
	c.parallel(n, grainValues, func(lo, hi int) {
		part := y[lo:hi]
		for i := range part {
			part[i] = v
		}
	})
}

func reluBwd(c *Call) {
	map2(c, func(dy, y, dx []float32) {
		for i := range dx {
			dx[i] = derivative(ActReLU, dy[i], y[i])
		}
	})
}

func sigmoidBwd(c *Call) {
	map2(c, func(dy, y, dx []float32) {
		for i := range dx {
			dx[i] = derivative(ActSigmoid, dy[i], y[i])
		}
	})
}

func tanhBwd(c *Call) {
	map2(c, func(dy, y, dx []float32) {
		for i := range dx {
			dx[i] = derivative(ActTanh, dy[i], y[i])
		}
	})
}

func squareBwd(c *Call) {
	map2(c, func(dy, x, dx []float32) {
		for i := range dx {
			dx[i] = 2 * x[i] * dy[i]
		}
	})
}

func mseGrad(c *Call) {
	scale := 2 / c.num(3)
	map2(c, func(p, t, g []float32) {
		for i := range g {
			g[i] = scale * (p[i] - t[i])
		}
	})
}

func adamStep(c *Call) {
	n := c.Grid.X
	w, g, m, v := c.f32(0, n), c.f32(1, n), c.f32(2, n), c.f32(3, n)
	lr, b1, b2 := c.num(4), c.num(5), c.num(6)
	c1, c2 := 1-c.num(7), 1-c.num(8)
	eps, wd := c.num(9), c.num(10)
	c.parallel(n, grainValues, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			m[i] = b1*m[i] + (1-b1)*g[i]
			v[i] = b2*v[i] + (1-b2)*g[i]*g[i]
			step := (m[i] / c1) / (float32(math.Sqrt(float64(v[i]/c2))) + eps)
			w[i] -= lr*wd*w[i] + lr*step
		}
	})
}
