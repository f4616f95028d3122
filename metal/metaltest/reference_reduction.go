package metaltest

import (
	"math"

	"github.com/gpumem/gpumem/metal"
)

func reduction(name string) (reference, bool) {
	rows := func(buffers int, fill func(*launch)) (reference, bool) {
		return reference{positive: -1, fill: fill, problems: over(
			func(r, _, c int) []int { return []int{r * c, r * c, r * c}[:buffers] },
			func(r, _, c int) []float64 { return []float64{float64(r), float64(c)} },
			func(r, _, _ int) metal.Size { return metal.Size{X: r} })}, true
	}
	plane := func(outer, _, inner int) metal.Size { return metal.Size{X: inner, Y: outer} }
	switch name {
	case "softmax":
		return rows(2, softmax)
	case "softmax_bwd":
		return rows(3, softmaxBackward)
	case "sum_axis":
		return reference{positive: -1, fill: sumAxis, problems: over(
			func(o, a, i int) []int { return []int{o * a * i, o * i} }, three, plane)}, true
	case "sum_axis_bwd":
		return reference{positive: -1, fill: sumAxisBackward, problems: over(
			func(o, a, i int) []int { return []int{o * i, o * a * i} }, three, plane)}, true
	case "mul_broadcast":
		return reference{positive: -1, fill: broadcast, problems: over(
			func(o, _, i int) []int { return []int{i, o * i, o * i} }, outerInner, plane)}, true
	case "mul_broadcast_bwd":
		return reference{positive: -1, fill: broadcastBackward, problems: over(
			func(o, _, i int) []int { return []int{o * i, o * i, i} }, outerInner,
			func(_, _, i int) metal.Size { return metal.Size{X: i} })}, true
	}
	return reference{}, false
}

func outerInner(outer, _, inner int) []float64 { return []float64{float64(outer), float64(inner)} }

// softmax: an error of the exponent's argument is a relative error of the
// result, and the sum's relative error is that of all.
func softmax(l *launch) {
	rows, cols := l.param(0), l.param(1)
	l.threads(rows, 1, func(r, _ int) {
		x := l.args[0][r*cols : (r+1)*cols]
		top, total, worst := math.Inf(-1), 0.0, 0.0
		for _, v := range x {
			top = max(top, v)
		}
		for _, v := range x {
			total += math.Exp(v - top)
			worst = max(worst, top-v)
		}
		for c, v := range x {
			l.set(1, r*cols+c, near(math.Exp(v-top)/total, 10+2*worst+float64(cols)/2))
		}
	})
}

func softmaxBackward(l *launch) {
	rows, cols := l.param(0), l.param(1)
	l.threads(rows, 1, func(r, _ int) {
		dy, y := l.args[0][r*cols:(r+1)*cols], l.args[1][r*cols:(r+1)*cols]
		for c := range cols {
			terms := []term{plain(y[c] * dy[c])}
			for j := range cols {
				terms = append(terms, plain(-y[c]*dy[j]*y[j]))
			}
			l.set(2, r*cols+c, sum(terms...))
		}
	})
}

func sumAxis(l *launch) {
	outer, axis, inner := l.param(0), l.param(1), l.param(2)
	l.threads(inner, outer, func(i, o int) {
		var terms []term
		for a := range axis {
			terms = append(terms, plain(l.args[0][(o*axis+a)*inner+i]))
		}
		l.set(1, o*inner+i, sum(terms...))
	})
}

func sumAxisBackward(l *launch) {
	outer, axis, inner := l.param(0), l.param(1), l.param(2)
	l.threads(inner, outer, func(i, o int) {
		for a := range axis {
			l.set(1, (o*axis+a)*inner+i, exact(l.args[0][o*inner+i]))
		}
	})
}

func broadcast(l *launch) {
	outer, inner := l.param(0), l.param(1)
	l.threads(inner, outer,
		func(i, o int) { l.set(2, o*inner+i, near(l.args[0][i]*l.args[1][o*inner+i], 1)) })
}

func broadcastBackward(l *launch) {
	outer, inner := l.param(0), l.param(1)
	l.threads(inner, 1, func(i, _ int) {
		var terms []term
		for o := range outer {
			terms = append(terms, plain(l.args[0][o*inner+i]*l.args[1][o*inner+i]))
		}
		l.set(2, i, sum(terms...))
	})
}
