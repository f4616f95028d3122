package metaltest

import (
	"math"

	"github.com/gpumem/gpumem/metal"
)

// languageModel is the reference of the pieces of a language model.
func languageModel(name string) (reference, bool) {
	switch name {
	case "rms_norm":
		return reference{positive: -1, fill: rmsNorm, problems: over(
			func(r, _, c int) []int { return []int{r * c, c, r * c} },
			func(r, _, c int) []float64 { return single32(float64(r), float64(c), 1e-5) },
			func(r, _, _ int) metal.Size { return metal.Size{X: r} })}, true
	case "rope":
		const from = 3
		return reference{positive: -1, fill: rope, problems: over(
			func(r, h, i int) []int { return []int{r * h * i * 2, (from + r) * i * 2} },
			func(r, h, i int) []float64 { return []float64{float64(r), float64(h), float64(i), from} },
			func(r, h, i int) metal.Size { return metal.Size{X: i, Y: r * h} })}, true
	case "attention_scores":
		return reference{positive: -1, fill: scores, problems: attention(true)}, true
	case "attention_mix":
		return reference{positive: -1, fill: mix, problems: attention(false)}, true
	case "silu_mul":
		return each(3, nil, func(l *launch, i int) {
			a, b := l.args[0][i], l.args[1][i]
			l.set(2, i, near(a/(1+math.Exp(-a))*b, 12))
		})
	}
	return reference{}, false
}

func rmsNorm(l *launch) {
	rows, cols := l.param(0), l.param(1)
	l.threads(rows, 1, func(r, _ int) {
		x, squares := l.args[0][r*cols:(r+1)*cols], 0.0
		for _, v := range x {
			squares += v * v
		}
		for c, v := range x {
			y := v / math.Sqrt(squares/float64(cols)+l.params[2]) * l.args[1][c]
			l.set(2, r*cols+c, near(y, 10+float64(cols)/2))
		}
	})
}

func rope(l *launch) {
	rows, heads, pairs, from := l.param(0), l.param(1), l.param(2), l.param(3)
	l.threads(pairs, rows*heads, func(i, row int) {
		p, t := 2*(row*pairs+i), 2*((from+row/heads)*pairs+i)
		a, b, cosine, sine := l.args[0][p], l.args[0][p+1], l.args[1][t], l.args[1][t+1]
		l.set(0, p, sum(plain(a*cosine), plain(-b*sine)))
		l.set(0, p+1, sum(plain(a*sine), plain(b*cosine)))
	})
}

// attention makes the problems of both kernels: heads that share one of keys
// and values in groups that do not come out even, and rows at the end of so
// many positions.
func attention(scores bool) []problem {
	const group = 2
	shape := func(rows, heads, size int) (w, cached, q, positions int) {
		positions = rows + 4
		return rows * heads * positions, positions * ((heads + 1) / group) * size,
			rows * heads * size, positions
	}
	return over(
		func(r, h, i int) []int {
			w, cached, q, _ := shape(r, h, i)
			if scores {
				return []int{q, cached, w}
			}
			return []int{w, cached, q}
		},
		func(r, h, i int) []float64 {
			p := []float64{float64(r), float64(h), group, float64(i), float64(r + 4)}
			if scores {
				p = append(p, 0.25)
			}
			return p
		},
		func(r, h, i int) metal.Size {
			if scores {
				return metal.Size{X: r + 4, Y: r * h}
			}
			return metal.Size{X: i, Y: r * h}
		})
}

// cachedAt is where the head begins that a row reads of a position.
func (l *launch) cachedAt(row, position int) int {
	heads, group, size := l.param(1), l.param(2), l.param(3)
	return (position*((heads+group-1)/group) + row%heads/group) * size
}

func scores(l *launch) {
	rows, heads, size, positions := l.param(0), l.param(1), l.param(3), l.param(4)
	terms := make([]term, size)
	l.threads(positions, rows*heads, func(p, row int) {
		if p > positions-rows+row/heads {
			l.set(2, row*positions+p, exact(float64(float32(-1e30))))
			return
		}
		at := l.cachedAt(row, p)
		query, key, scale := l.args[0][row*size:], l.args[1][at:at+size], l.params[5]
		for i, k := range key {
			terms[i] = plain(scale * query[i] * k)
		}
		l.set(2, row*positions+p, sum(terms...))
	})
}

func mix(l *launch) {
	rows, heads, size, positions := l.param(0), l.param(1), l.param(3), l.param(4)
	terms := make([]term, positions)
	l.threads(size, rows*heads, func(i, row int) {
		at := l.cachedAt(row, 0) + i
		next, values := l.cachedAt(row, 1)-l.cachedAt(row, 0), l.args[1]
		for p, weight := range l.args[0][row*positions : (row+1)*positions] {
			terms[p] = plain(weight * values[at+p*next])
		}
		l.set(2, row*size+i, sum(terms...))
	})
}
