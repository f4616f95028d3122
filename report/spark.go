package report

import (
	"math"

	"github.com/gpumem/gpumem/internal/units"
)

var sparkRunes = [...]rune{'▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'}

// sparkline draws v over x in width characters. Each line of a chart
// starts at its own least value, and all share one span, so that heights
// compare growth and not size. A character is the highest value of its part;
// parts without a value stay blank.
func sparkline(x, v []float64, span float64, width int) string {
	lo, hi := rangeOf(v)
	x0, x1 := rangeOf(x)
	cells := make([]float64, width)
	for i := range cells {
		cells[i] = math.NaN()
	}
	for i, y := range v {
		if !finite(y) || !finite(x[i]) {
			continue
		}
		k := 0
		if x1 > x0 {
			k = min(int((x[i]-x0)/(x1-x0)*float64(width)), width-1)
		}
		if !(cells[k] >= y) {
			cells[k] = y
		}
	}
	fill(cells)
	out := make([]rune, width)
	for i, y := range cells {
		switch {
		case math.IsNaN(y):
			out[i] = ' '
		case !(span > 0) || !(hi > lo):
			out[i] = sparkRunes[0]
		default:
			out[i] = sparkRunes[min(int((y-lo)/span*float64(len(sparkRunes))), len(sparkRunes)-1)]
		}
	}
	return string(out)
}

// fill carries a value over parts without a sample, as far as the next one:
// fewer samples than characters make stairs and no holes.
func fill(cells []float64) {
	last := -1
	for i, y := range cells {
		if math.IsNaN(y) {
			continue
		}
		for k := last + 1; last >= 0 && k < i; k++ {
			cells[k] = cells[last]
		}
		last = i
	}
}

// spanOf is the widest range of a chart's lines.
func spanOf(c chart) float64 {
	span := 0.0
	for _, l := range c.lines {
		if lo, hi := rangeOf(l.v); hi-lo > span {
			span = hi - lo
		}
	}
	return span
}

// sparkTable is a chart in characters: a row a line, with its first, last and
// highest value. The drawing takes what the others leave of columns.
func sparkTable(c chart, columns int) *table {
	t := &table{caption: c.title + " over " + axisName(c.axis) + ".",
		head: []column{{title: "line"}, {title: "over " + c.axis.word()}, {title: "first", right: true},
			{title: "last", right: true}, {title: "peak", right: true}}}
	widths := make([]int, len(t.head))
	for i, h := range t.head {
		widths[i] = cells(h.title)
	}
	for _, l := range c.lines {
		_, peak := rangeOf(l.v)
		first, last := ends(l.v)
		row := []string{l.label, "", valueText(first, c.bytes), valueText(last, c.bytes),
			valueText(peak, c.bytes)}
		for i, cell := range row {
			widths[i] = max(widths[i], cells(cell))
		}
		t.rows = append(t.rows, row)
	}
	others := widths[0] + widths[2] + widths[3] + widths[4] + 2*len(widths)
	width, span := min(max(columns-others, 10), 40), spanOf(c)
	for i, l := range c.lines {
		t.rows[i][1] = sparkline(c.axis.x, l.v, span, width)
	}
	return t
}

func ends(v []float64) (first, last float64) {
	first, last = math.NaN(), math.NaN()
	for _, x := range v {
		if !finite(x) {
			continue
		}
		if math.IsNaN(first) {
			first = x
		}
		last = x
	}
	return first, last
}

func (a axis) word() string {
	return map[string]string{"s": "time", "step": "steps", "sample": "samples"}[a.unit]
}

// axisName is the extent of the axis in words: "62 s", "steps 0 to 1,500".
func axisName(a axis) string {
	lo, hi := rangeOf(a.x)
	if a.unit == "s" {
		return units.Seconds(hi - lo)
	}
	return a.word() + " " + units.Count(int64(lo)) + " to " + units.Count(int64(hi))
}
