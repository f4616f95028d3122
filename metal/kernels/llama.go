package kernels

import "math"

// unseen is the score of a position that a row may not see yet: its exponent is
// 0 beside any other.
const unseen = -1e30

func needRMSNorm(c *Call) lengths {
	n := area(c.dim(3), c.dim(4))
	return lengths{n, int64(c.dim(4)), n}
}

func rmsNorm(c *Call) {
	rows, cols, eps := c.dim(3), c.dim(4), float64(c.num(5))
	x, w, y := c.f32(0, rows*cols), c.f32(1, cols), c.f32(2, rows*cols)
	c.parallel(min(rows, c.Grid.X), grainRows(2*cols), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			from, to := x[r*cols:(r+1)*cols], y[r*cols:(r+1)*cols]
			var sum float64
			for _, v := range from {
				sum += float64(v) * float64(v)
			}
			scale := float32(1 / math.Sqrt(sum/float64(cols)+eps))
			for i, v := range from {
				to[i] = v * scale * w[i]
			}
		}
	})
}

func needRope(c *Call) lengths {
	rows, heads, pairs, from := int64(c.dim(2)), int64(c.dim(3)), int64(c.dim(4)), int64(c.dim(5))
	return lengths{product(rows, heads, pairs, 2), product(from+rows, pairs, 2)}
}

func rope(c *Call) {
	rows, heads, pairs, from := c.dim(2), c.dim(3), c.dim(4), c.dim(5)
	x, turns := c.f32(0, 2*rows*heads*pairs), c.f32(1, 2*(from+rows)*pairs)
	width := min(pairs, c.Grid.X)
	c.parallel(min(rows*heads, c.Grid.Y), grainRows(4*width), func(lo, hi int) {
		for head := lo; head < hi; head++ {
			v, t := x[2*head*pairs:2*(head+1)*pairs], turns[2*(from+head/heads)*pairs:]
			for i := 0; i < 2*width; i += 2 {
				a, b, cosine, sine := v[i], v[i+1], t[i], t[i+1]
				v[i] = a*cosine - b*sine
				v[i+1] = a*sine + b*cosine
			}
		}
	})
}

// attention is the shape of the attention kernels, from argument 3 on.
type attention struct{ rows, heads, group, size, positions, shared int }

func attentionOf(c *Call) attention {
	a := attention{rows: c.dim(3), heads: c.dim(4), group: c.dim(5), size: c.dim(6), positions: c.dim(7)}
	if a.group == 0 {
		return attention{}
	}
	a.shared = (a.heads + a.group - 1) / a.group
	return a
}

// queries, cached and weights are the values of the three kinds of buffers.
func (a attention) queries() int64 { return product(int64(a.rows), int64(a.heads), int64(a.size)) }
func (a attention) cached() int64  { return product(int64(a.positions), int64(a.shared), int64(a.size)) }
func (a attention) weights() int64 { return product(int64(a.rows), int64(a.heads), int64(a.positions)) }

func needScores(c *Call) lengths {
	a := attentionOf(c)
	return lengths{a.queries(), a.cached(), a.weights()}
}

func needMix(c *Call) lengths {
	a := attentionOf(c)
	return lengths{a.weights(), a.cached(), a.queries()}
}

// at is where the head of keys or values begins that a row of a head reads.
func (a attention) at(row, position int) int {
	return (position*a.shared + row%a.heads/a.group) * a.size
}

func attentionScores(c *Call) {
	a, scale := attentionOf(c), c.num(8)
	q, k, y := c.f32(0, int(a.queries())), c.f32(1, int(a.cached())), c.f32(2, int(a.weights()))
	width := min(a.positions, c.Grid.X)
	c.parallel(min(a.rows*a.heads, c.Grid.Y), grainRows(a.size*width), func(lo, hi int) {
		for row := lo; row < hi; row++ {
			to := y[row*a.positions : row*a.positions+width]
			seen := max(0, min(width, a.positions-a.rows+row/a.heads+1))
			query := q[row*a.size : (row+1)*a.size]
			for p := range seen {
				to[p] = scale * dot(query, k[a.at(row, p):a.at(row, p)+a.size])
			}
			for p := seen; p < width; p++ {
				to[p] = unseen
			}
		}
	})
}

func attentionMix(c *Call) {
	a := attentionOf(c)
	w, v, y := c.f32(0, int(a.weights())), c.f32(1, int(a.cached())), c.f32(2, int(a.queries()))
	width := min(a.size, c.Grid.X)
	c.parallel(min(a.rows*a.heads, c.Grid.Y), grainRows(a.positions*width), func(lo, hi int) {
		for row := lo; row < hi; row++ {
			to := y[row*a.size : row*a.size+width]
			clear(to)
			for p, weight := range w[row*a.positions : (row+1)*a.positions] {
				axpy1(to, v[a.at(row, p):a.at(row, p)+width], weight)
			}
		}
	})
}

func siluMul(c *Call) {
	map2(c, func(a, b, y []float32) {
		for i := range y {
			y[i] = a[i] * sigmoidOf(a[i]) * b[i]
		}
	})
}
