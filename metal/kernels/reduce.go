package kernels

import "math"

func needRows(c *Call) lengths {
	i := 2
	if len(c.Args) > 4 {
		i = 3 // softmax_bwd has one more buffer
	}
	n := area(c.dim(i), c.dim(i+1))
	return lengths{n, n, n}
}

// softmax subtracts the row's maximum first, so that no exponent overflows. A
// row with a NaN or with +Inf is NaN; a row of -Inf only is NaN, too.
func softmax(c *Call) {
	rows, cols := c.dim(2), c.dim(3)
	x, y := c.f32(0, rows*cols), c.f32(1, rows*cols)
	c.parallel(min(rows, c.Grid.X), grainRows(8*cols), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			softmaxRow(x[r*cols:(r+1)*cols], y[r*cols:(r+1)*cols])
		}
	})
}

func softmaxRow(x, y []float32) {
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	var sum float64
	for i, v := range x {
		e := math.Exp(float64(v) - float64(top))
		y[i] = float32(e)
		sum += e
	}
	inv := 1 / sum
	for i := range y {
		y[i] = float32(float64(y[i]) * inv)
	}
}

func softmaxBwd(c *Call) {
	rows, cols := c.dim(3), c.dim(4)
	dy, y, dx := c.f32(0, rows*cols), c.f32(1, rows*cols), c.f32(2, rows*cols)
	c.parallel(min(rows, c.Grid.X), grainRows(4*cols), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			g, p, d := dy[r*cols:(r+1)*cols], y[r*cols:(r+1)*cols], dx[r*cols:(r+1)*cols]
			var dot float64
			for i := range g {
				dot += float64(g[i]) * float64(p[i])
			}
			for i := range d {
				d[i] = p[i] * float32(float64(g[i])-dot)
			}
		}
	})
}

func axisDims(c *Call) (outer, axis, inner int) { return c.dim(2), c.dim(3), c.dim(4) }

func needSumAxis(c *Call) lengths {
	o, a, i := axisDims(c)
	return lengths{product(int64(o), int64(a), int64(i)), area(o, i)}
}

func needSumAxisBwd(c *Call) lengths {
	n := needSumAxis(c)
	return lengths{n[1], n[0]}
}

// sumAxis adds in float64: a float32 sum of a million values would lose three
// digits.
func sumAxis(c *Call) {
	outer, axis, inner := axisDims(c)
	x, y := c.f32(0, outer*axis*inner), c.f32(1, outer*inner)
	rows, cols := min(outer, c.Grid.Y), min(inner, c.Grid.X)
	c.parallel(rows, grainRows(axis*cols), func(lo, hi int) {
		for o := lo; o < hi; o++ {
			for i := range cols {
				var sum float64
				for p := o*axis*inner + i; p < (o+1)*axis*inner; p += inner {
					sum += float64(x[p])
				}
				y[o*inner+i] = float32(sum)
			}
		}
	})
}

func sumAxisBwd(c *Call) {
	outer, axis, inner := axisDims(c)
	dy, dx := c.f32(0, outer*inner), c.f32(1, outer*axis*inner)
	rows, cols := min(outer, c.Grid.Y), min(inner, c.Grid.X)
	c.parallel(rows, grainRows(axis*cols), func(lo, hi int) {
		for o := lo; o < hi; o++ {
			for a := range axis {
				at := (o*axis + a) * inner
				copy(dx[at:at+cols], dy[o*inner:o*inner+cols])
			}
		}
	})
}

func needMulBroadcast(c *Call) lengths {
	n, inner := area(c.dim(3), c.dim(4)), int64(c.dim(4))
	return lengths{inner, n, n}
}

func needMulBroadcastBwd(c *Call) lengths {
	n, inner := area(c.dim(3), c.dim(4)), int64(c.dim(4))
	return lengths{n, n, inner}
}

func mulBroadcast(c *Call) {
	outer, inner := c.dim(3), c.dim(4)
	a, b, y := c.f32(0, inner), c.f32(1, outer*inner), c.f32(2, outer*inner)
	rows, cols := min(outer, c.Grid.Y), min(inner, c.Grid.X)
	c.parallel(rows, grainRows(cols), func(lo, hi int) {
		for o := lo; o < hi; o++ {
			for i := range cols {
				y[o*inner+i] = a[i] * b[o*inner+i]
			}
		}
	})
}

func mulBroadcastBwd(c *Call) {
	outer, inner := c.dim(3), c.dim(4)
	dc, b, da := c.f32(0, outer*inner), c.f32(1, outer*inner), c.f32(2, inner)
	c.parallel(min(inner, c.Grid.X), grainRows(outer), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var sum float64
			for p := i; p < outer*inner; p += inner {
				sum += float64(dc[p]) * float64(b[p])
			}
			da[i] = float32(sum)
		}
	})
}
