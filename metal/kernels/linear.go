package kernels

// Activation is the code of a fused activation.
type Activation int32

// The activation codes of linear_fwd, linear_bwd_input and
// linear_bwd_weights.
const (
	ActNone Activation = iota
	ActReLU
	ActTanh
	ActSigmoid
)

func (a Activation) apply(v float32) float32 {
	switch a {
	case ActReLU:
		return reluOf(v)
	case ActTanh:
		return tanhOf(v)
	case ActSigmoid:
		return sigmoidOf(v)
	}
	return v
}

// derivative is dy times the activation's slope, from its cached output y.
func derivative(a Activation, dy, y float32) float32 {
	switch a {
	case ActReLU:
		if y > 0 {
			return dy
		}
		return 0
	case ActTanh:
		return dy * (1 - y*y)
	case ActSigmoid:
		return dy * y * (1 - y)
	}
	return dy
}

// linearDims are the four parameters of the linear kernels, from index i on.
func linearDims(c *Call, i int) (batch, outs, ins int, a Activation) {
	return c.dim(i), c.dim(i + 1), c.dim(i + 2), Activation(c.dim(i + 3))
}

func area(a, b int) int64 { return product(int64(a), int64(b)) }

func needLinearFwd(c *Call) lengths {
	batch, outs, ins, _ := linearDims(c, 4)
	return lengths{area(batch, ins), area(outs, ins), int64(outs), area(batch, outs)}
}

func needLinearBwdInput(c *Call) lengths {
	batch, outs, ins, _ := linearDims(c, 4)
	return lengths{area(batch, outs), area(outs, ins), area(batch, outs), area(batch, ins)}
}

func needLinearBwdWeights(c *Call) lengths {
	batch, outs, ins, _ := linearDims(c, 5)
	return lengths{area(batch, outs), area(batch, ins), area(batch, outs), area(outs, ins), int64(outs)}
}

// grainRows is how many rows of the given cost (multiply-adds) are worth
// another core.
func grainRows(cost int) int { return max(1, 2*grainValues/max(cost, 1)) }

func linearFwd(c *Call) {
	batch, outs, ins, a := linearDims(c, 4)
	x, w := c.f32(0, batch*ins), c.f32(1, outs*ins)
	bias, y := c.f32(2, outs), c.f32(3, batch*outs)
	rows, cols := min(batch, c.Grid.Y), min(outs, c.Grid.X)
	// Columns are the outer loop: four rows of w stay in the first-level
	// cache while x streams past them.
	c.parallel((cols+3)/4, grainRows(4*rows*ins), func(lo, hi int) {
		for n := 4 * lo; n < min(4*hi, cols); n += 4 {
			for r := 0; r < rows; r += 2 {
				linearTile(x, w, bias, y, tile{r, n, min(2, rows-r), min(4, cols-n)}, ins, outs, a)
			}
		}
	})
}

// tile is a block of outputs: its first row and column, and its size.
type tile struct{ r, n, rows, cols int }

func linearTile(x, w, bias, y []float32, t tile, ins, outs int, a Activation) {
	var s [2][4]float32
	switch {
	case t.rows == 2 && t.cols == 4:
		s = dot2x4(x[t.r*ins:(t.r+2)*ins], w[t.n*ins:(t.n+4)*ins], ins)
	case t.cols == 4:
		s[0] = dot1x4(x[t.r*ins:(t.r+1)*ins], w[t.n*ins:(t.n+4)*ins], ins)
	default:
		for i := range t.rows {
			for j := range t.cols {
				s[i][j] = dot(x[(t.r+i)*ins:(t.r+i+1)*ins], w[(t.n+j)*ins:(t.n+j+1)*ins])
			}
		}
	}
	for i := range t.rows {
		for j := range t.cols {
			y[(t.r+i)*outs+t.n+j] = a.apply(s[i][j] + bias[t.n+j])
		}
	}
}

// dot2x4 multiplies two rows with four rows of length k each: eight
// independent sums and six loads a step.
func dot2x4(x, w []float32, k int) (s [2][4]float32) {
	x0, x1 := x[:k], x[k:2*k]
	w0, w1, w2, w3 := w[:k], w[k:2*k], w[2*k:3*k], w[3*k:4*k]
	var a0, a1, a2, a3, b0, b1, b2, b3 float32
	x1 = x1[:len(x0)]
	w0, w1, w2, w3 = w0[:len(x0)], w1[:len(x0)], w2[:len(x0)], w3[:len(x0)]
	for i, p := range x0 {
		q := x1[i]
		a0 += p * w0[i]
		b0 += q * w0[i]
		a1 += p * w1[i]
		b1 += q * w1[i]
		a2 += p * w2[i]
		b2 += q * w2[i]
		a3 += p * w3[i]
		b3 += q * w3[i]
	}
	return [2][4]float32{{a0, a1, a2, a3}, {b0, b1, b2, b3}}
}

// dot1x4 multiplies one row with four: four sums do not wait for each other.
func dot1x4(x, w []float32, k int) (s [4]float32) {
	w0, w1, w2, w3 := w[:k], w[k:2*k], w[2*k:3*k], w[3*k:4*k]
	w0, w1, w2, w3 = w0[:len(x)], w1[:len(x)], w2[:len(x)], w3[:len(x)]
	var a0, a1, a2, a3 float32
	for i, p := range x {
		a0 += p * w0[i]
		a1 += p * w1[i]
		a2 += p * w2[i]
		a3 += p * w3[i]
	}
	return [4]float32{a0, a1, a2, a3}
}

func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s float32
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// axpy4 adds four scaled rows to dst; one pass instead of four over dst.
func axpy4(dst, b0, b1, b2, b3 []float32, a0, a1, a2, a3 float32) {
	b0, b1, b2, b3 = b0[:len(dst)], b1[:len(dst)], b2[:len(dst)], b3[:len(dst)]
	for j := range dst {
		dst[j] += a0*b0[j] + a1*b1[j] + a2*b2[j] + a3*b3[j]
	}
}

func axpy1(dst, b []float32, a float32) {
	b = b[:len(dst)]
	for j := range dst {
		dst[j] += a * b[j]
	}
}

// combine adds to dst the rows [lo, hi) of src, each width wide, from column
// off on, scaled by coef(row).
func combine(dst, src []float32, width, off, lo, hi int, coef func(row int) float32) {
	row := func(k int) []float32 { return src[k*width+off : k*width+off+len(dst)] }
	k := lo
	for ; k+4 <= hi; k += 4 {
		axpy4(dst, row(k), row(k+1), row(k+2), row(k+3), coef(k), coef(k+1), coef(k+2), coef(k+3))
	}
	for ; k < hi; k++ {
		axpy1(dst, row(k), coef(k))
	}
}

func linearBwdInput(c *Call) {
	batch, outs, ins, a := linearDims(c, 4)
	dy, w := c.f32(0, batch*outs), c.f32(1, outs*ins)
	y, dx := c.f32(2, batch*outs), c.f32(3, batch*ins)
	rows, cols := min(batch, c.Grid.Y), min(ins, c.Grid.X)
	c.parallel(rows, grainRows(outs*cols), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			dst := dx[r*ins : r*ins+cols]
			clear(dst)
			combine(dst, w, ins, 0, 0, outs, func(n int) float32 {
				return derivative(a, dy[r*outs+n], y[r*outs+n])
			})
		}
	})
}

func linearBwdWeights(c *Call) {
	batch, outs, ins, a := linearDims(c, 5)
	dy, x := c.f32(0, batch*outs), c.f32(1, batch*ins)
	y, dw, db := c.f32(2, batch*outs), c.f32(3, outs*ins), c.f32(4, outs)
	rows, cols := min(outs, c.Grid.Y), min(ins, c.Grid.X)
	inv := 1 / float32(batch)
	c.parallel(rows, grainRows(batch*cols), func(lo, hi int) {
		for n := lo; n < hi; n++ {
			delta := func(r int) float32 { return inv * derivative(a, dy[r*outs+n], y[r*outs+n]) }
			combine(dw[n*ins:n*ins+cols], x, ins, 0, 0, batch, delta)
			for r := range batch {
				db[n] += delta(r)
			}
		}
	})
}

func needMatmul(c *Call) lengths {
	m, n, k := c.dim(3), c.dim(4), c.dim(5)
	return lengths{area(m, k), area(k, n), area(m, n)}
}

// The block of b that all rows of a pass over before the next one is loaded:
// 128 x 256 floats, 128 KiB, half of a small second-level cache.
const (
	blockK = 128
	blockN = 256
)

func matmul(c *Call) {
	m, n, k := c.dim(3), c.dim(4), c.dim(5)
	a, b, y := c.f32(0, m*k), c.f32(1, k*n), c.f32(2, m*n)
	rows, cols := min(m, c.Grid.Y), min(n, c.Grid.X)
	c.parallel(rows, grainRows(k*cols), func(lo, hi int) {
		for j := 0; j < cols; j += blockN {
			width := min(blockN, cols-j)
			for r := lo; r < hi; r++ {
				clear(y[r*n+j : r*n+j+width])
			}
			for kb := 0; kb < k; kb += blockK {
				for r := lo; r < hi; r++ {
					combine(y[r*n+j:r*n+j+width], b, n, j, kb, min(kb+blockK, k),
						func(kk int) float32 { return a[r*k+kk] })
				}
			}
		}
	})
}

func needTranspose(c *Call) lengths {
	n := area(c.dim(2), c.dim(3))
	return lengths{n, n}
}

// matTranspose goes in squares of 16: both sides of a square are whole cache
// lines.
func matTranspose(c *Call) {
	const side = 16
	rows, cols := c.dim(2), c.dim(3)
	a, b := c.f32(0, rows*cols), c.f32(1, rows*cols)
	h, w := min(rows, c.Grid.Y), min(cols, c.Grid.X)
	c.parallel((h+side-1)/side, grainRows(side*w), func(lo, hi int) {
		for y0 := lo * side; y0 < min(hi*side, h); y0 += side {
			for x0 := 0; x0 < w; x0 += side {
				for y := y0; y < min(y0+side, h); y++ {
					for x := x0; x < min(x0+side, w); x++ {
						b[x*rows+y] = a[y*cols+x]
					}
				}
			}
		}
	})
}

func needAddBias(c *Call) lengths {
	cols := c.dim(2)
	return lengths{area(c.Grid.Y, cols), int64(cols)}
}

func addBias(c *Call) {
	cols, rows := c.dim(2), c.Grid.Y
	x, bias := c.f32(0, rows*cols), c.f32(1, cols)
	width := min(cols, c.Grid.X)
	c.parallel(rows, grainRows(width), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			row := x[r*cols : r*cols+width]
			for j := range row {
				row[j] += bias[j]
			}
		}
	})
}
