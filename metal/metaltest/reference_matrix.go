package metaltest

import (
	"math"

	"github.com/gpumem/gpumem/metal"
)

// activate applies an activation to an estimate. None is steeper than 1, so
// the slack stays and the function's own error comes on top.
func activate(code int, e estimate) estimate {
	switch code {
	case 1:
		e.value = max(e.value, 0)
	case 2:
		e.value = math.Tanh(e.value)
		e.slack += near(e.value, 8).slack
	case 3:
		e.value = 1 / (1 + math.Exp(-e.value))
		e.slack += near(e.value, 8).slack
	}
	return e
}

// slope is dy times an activation's derivative, from its output y.
func slope(code int, dy, y float64) term {
	switch code {
	case 1:
		if y > 0 {
			return plain(dy)
		}
		return term{}
	case 2:
		return term{dy * (1 - y*y), math.Abs(dy) * (1 + y*y)}
	case 3:
		return term{dy * y * (1 - y), math.Abs(dy*y) * (1 + math.Abs(y))}
	}
	return plain(dy)
}

// times scales a term.
func (t term) times(v float64) term { return term{t.value * v, t.size * math.Abs(v)} }

func activations(name string) (reference, bool) {
	forward := func(code int) (reference, bool) {
		return each(2, nil, func(l *launch, i int) { l.set(1, i, activate(code, exact(l.args[0][i]))) })
	}
	backward := func(code int) (reference, bool) {
		return each(3, nil,
			func(l *launch, i int) { l.set(2, i, sum(slope(code, l.args[0][i], l.args[1][i]))) })
	}
	switch name {
	case "relu":
		return forward(1)
	case "tanh":
		return forward(2)
	case "sigmoid":
		return forward(3)
	case "relu_bwd":
		return backward(1)
	case "tanh_bwd":
		return backward(2)
	case "sigmoid_bwd":
		return backward(3)
	}
	return reference{}, false
}

// shapes are three dimensions each; odd ones leave edges of every tile, the
// last one is worth several cores.
var shapes = [...][3]int{{1, 1, 1}, {4, 4, 2}, {3, 5, 7}, {17, 9, 33}, {40, 35, 130}}

// over makes the problems of a kernel over three dimensions: for each shape a
// grid that fits, one too large and one too small.
func over(sizes func(a, b, c int) []int, params func(a, b, c int) []float64,
	grid func(a, b, c int) metal.Size) []problem {
	var problems []problem
	for _, s := range shapes {
		a, b, c := s[0], s[1], s[2]
		g := grid(a, b, c)
		for _, g := range []metal.Size{g, {X: g.X + 3, Y: g.Y + 2}, {X: max(g.X-1, 1), Y: max(g.Y-1, 1)}} {
			problems = append(problems, problem{grid: g, params: params(a, b, c), sizes: sizes(a, b, c)})
		}
	}
	return problems
}

// threads runs f for the threads of the grid that are inside.
func (l *launch) threads(width, height int, f func(x, y int)) {
	for y := range min(height, max(l.grid.Y, 1)) {
		for x := range min(width, max(l.grid.X, 1)) {
			f(x, y)
		}
	}
}

func matrix(name string) (reference, bool) {
	switch name {
	case "linear_fwd":
		return linear(func(b, o, i int) []int { return []int{b * i, o * i, o, b * o} },
			func(b, o, _ int) metal.Size { return metal.Size{X: o, Y: b} }, linearForward), true
	case "linear_bwd_input":
		return linear(func(b, o, i int) []int { return []int{b * o, o * i, b * o, b * i} },
			func(b, _, i int) metal.Size { return metal.Size{X: i, Y: b} }, linearInput), true
	case "linear_bwd_weights":
		return linear(func(b, o, i int) []int { return []int{b * o, b * i, b * o, o * i, o} },
			func(_, o, i int) metal.Size { return metal.Size{X: i, Y: o} }, linearWeights), true
	case "matmul":
		return reference{positive: -1, fill: product, problems: over(
			func(m, n, k int) []int { return []int{m * k, k * n, m * n} }, three,
			func(m, n, _ int) metal.Size { return metal.Size{X: n, Y: m} })}, true
	case "mat_transpose":
		return reference{positive: -1, fill: transpose, problems: over(
			func(rows, cols, _ int) []int { return []int{rows * cols, rows * cols} },
			func(rows, cols, _ int) []float64 { return []float64{float64(rows), float64(cols)} },
			func(rows, cols, _ int) metal.Size { return metal.Size{X: cols, Y: rows} })}, true
	case "add_bias":
		return addBias(), true
	}
	return reference{}, false
}

func three(a, b, c int) []float64 { return []float64{float64(a), float64(b), float64(c)} }

// linear makes the problems for each of the four activations.
func linear(sizes func(b, o, i int) []int, grid func(b, o, i int) metal.Size, fill func(*launch)) reference {
	r := reference{positive: -1, fill: fill}
	for code := range 4 {
		params := func(b, o, i int) []float64 { return append(three(b, o, i), float64(code)) }
		r.problems = append(r.problems, over(sizes, params, grid)...)
	}
	return r
}

func linearForward(l *launch) {
	batch, outs, ins, code := l.param(0), l.param(1), l.param(2), l.param(3)
	x, w, bias := l.args[0], l.args[1], l.args[2]
	l.threads(outs, batch, func(n, r int) {
		terms := append(make([]term, 0, ins+1), plain(bias[n]))
		for k := range ins {
			terms = append(terms, plain(x[r*ins+k]*w[n*ins+k]))
		}
		l.set(3, r*outs+n, activate(code, sum(terms...)))
	})
}

func linearInput(l *launch) {
	batch, outs, ins, code := l.param(0), l.param(1), l.param(2), l.param(3)
	dy, w, y := l.args[0], l.args[1], l.args[2]
	l.threads(ins, batch, func(k, r int) {
		terms := make([]term, 0, outs)
		for n := range outs {
			terms = append(terms, slope(code, dy[r*outs+n], y[r*outs+n]).times(w[n*ins+k]))
		}
		l.set(3, r*ins+k, sum(terms...))
	})
}

func linearWeights(l *launch) {
	batch, outs, ins, code := l.param(0), l.param(1), l.param(2), l.param(3)
	dy, x, y, dw, db := l.args[0], l.args[1], l.args[2], l.args[3], l.args[4]
	l.threads(ins, outs, func(k, n int) {
		delta := func(r int) term {
			return slope(code, dy[r*outs+n], y[r*outs+n]).times(1 / float64(batch))
		}
		weight := []term{plain(dw[n*ins+k])}
		for r := range batch {
			weight = append(weight, delta(r).times(x[r*ins+k]))
		}
		l.set(3, n*ins+k, sum(weight...))
		if k > 0 {
			return
		}
		bias := []term{plain(db[n])}
		for r := range batch {
			bias = append(bias, delta(r))
		}
		l.set(4, n, sum(bias...))
	})
}

func product(l *launch) {
	m, n, k := l.param(0), l.param(1), l.param(2)
	l.threads(n, m, func(col, row int) {
		var terms []term
		for i := range k {
			terms = append(terms, plain(l.args[0][row*k+i]*l.args[1][i*n+col]))
		}
		l.set(2, row*n+col, sum(terms...))
	})
}

func transpose(l *launch) {
	rows, cols := l.param(0), l.param(1)
	l.threads(cols, rows, func(x, y int) { l.set(1, x*rows+y, exact(l.args[0][y*cols+x])) })
}

// addBias has no dimension for its rows: they are the grid's.
func addBias() reference {
	r := reference{positive: -1, fill: func(l *launch) {
		cols := l.param(0)
		l.threads(cols, l.grid.Y, func(x, y int) {
			l.set(0, y*cols+x, sum(plain(l.args[0][y*cols+x]), plain(l.args[1][x])))
		})
	}}
	for _, s := range shapes {
		rows, cols := s[0], s[2]
		for _, width := range []int{cols, cols + 3, max(cols-1, 1)} {
			r.problems = append(r.problems, problem{
				grid: metal.Size{X: width, Y: rows}, params: []float64{float64(cols)},
				sizes: []int{rows * cols, cols},
			})
		}
	}
	return r
}
