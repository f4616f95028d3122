package report

import (
	"math"
	"sort"
	"strings"
)

// A line that swings up and down too often to be told from a filled area is drawn as
// the band between its least and its greatest values, with its mean in it.
const (
	// leastSwing is the part of the picture's height from which on a turn is seen.
	leastSwing = 0.03
	// mostTurns is from how many turns on a line across the picture is a scribble.
	mostTurns = 90
	// mostParts bounds the parts of the axis that have a least and a greatest value.
	mostParts = 150
)

// band is a swinging line in parts of the axis, each with its place and its least,
// mean and greatest value.
type band struct {
	x, low, mean, high []float64
}

// bandOf is the band of a line; nil where it can be drawn as it is.
func bandOf(x, v []float64, f frame) *band {
	turns := turnsOf(v, leastSwing*(f.y1-f.y0))
	if turns < mostTurns {
		return nil
	}
	n := min(mostParts, turns/3) // a part has a whole swing in it
	width := (f.x1 - f.x0) / float64(n)
	low, high, sum, count := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, y := range v {
		if !finite(y) || !(x[i] >= f.x0 && x[i] <= f.x1) {
			continue
		}
		k := min(int((x[i]-f.x0)/width), n-1)
		if count[k] == 0 {
			low[k], high[k] = y, y
		}
		low[k], high[k] = min(low[k], y), max(high[k], y)
		sum[k], count[k] = sum[k]+y, count[k]+1
	}
	b := &band{}
	for k := range n {
		if count[k] > 0 {
			b.x = append(b.x, f.x0+(float64(k)+.5)*width)
			b.low, b.mean, b.high = append(b.low, low[k]), append(b.mean, sum[k]/count[k]),
				append(b.high, high[k])
		}
	}
	if len(b.x) < n*3/4 {
		return nil // the line has gaps, over which a band would say what nobody saw
	}
	if count[0] > 0 {
		b.x[0] = f.x0
	}
	if count[n-1] > 0 {
		b.x[len(b.x)-1] = f.x1
	}
	return b
}

// at is the mean between two parts.
func (b *band) at(x float64) float64 {
	i := sort.SearchFloat64s(b.x, x)
	switch {
	case i == 0:
		return b.mean[0]
	case i == len(b.x):
		return b.mean[i-1]
	}
	part := (x - b.x[i-1]) / (b.x[i] - b.x[i-1])
	return b.mean[i-1] + part*(b.mean[i]-b.mean[i-1])
}

// flattened is a line reduced to its mean where it is known.
func (b *band) flattened(r reduced) reduced {
	out := reduced{r.x, make([]float64, len(r.y))}
	for i, y := range r.y {
		if out.y[i] = y; finite(y) && finite(r.x[i]) {
			out.y[i] = b.at(r.x[i])
		}
	}
	return out
}

// path is the outline of a band.
func (b *band) path(f frame) string {
	var out strings.Builder
	for i, x := range b.x {
		if out.WriteByte('L'); i == 0 {
			out.Reset()
			out.WriteByte('M')
		}
		out.WriteString(f.point(x, b.low[i]))
	}
	for i := len(b.x) - 1; i >= 0; i-- {
		out.WriteByte('L')
		out.WriteString(f.point(b.x[i], b.high[i]))
	}
	return out.String() + "Z"
}

// bandsOf are the bands of a chart's lines, nil for each that is drawn as it is.
func bandsOf(c chart, f frame) []*band {
	out := make([]*band, len(c.lines))
	for i, l := range c.lines {
		out[i] = bandOf(c.axis.x, l.v, f)
	}
	return out
}

// turnsOf counts how often a series turns after a change of at least least.
func turnsOf(v []float64, least float64) (turns int) {
	up, extreme := 0, math.NaN()
	for _, y := range v {
		switch {
		case !finite(y):
		case math.IsNaN(extreme):
			extreme = y
		case up >= 0 && y > extreme || up < 0 && y < extreme:
			extreme = y
		case math.Abs(y-extreme) >= least:
			up, extreme = sign(y-extreme), y
			turns++
		}
	}
	return turns
}

func sign(x float64) int {
	if x < 0 {
		return -1
	}
	return 1
}
