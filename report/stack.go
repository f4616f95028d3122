package report

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
)

// stackView is a chart of parts that sum to a whole, drawn one above the other, with
// the moment at which the whole is largest.
type stackView struct {
	ID, Title, Desc string
	Parts           []stackPart
	XTicks, YTicks  []tick
	PeakAt, Anchor  string // place and side of the word at it
	Place           string // the peak in words
	High            float64
	JSON            template.JS
}

// Foot is where the drawing ends, in pixels from the top.
func (s stackView) Foot() float64 { return plotTop + s.High }

// Below is where the axis has its labels.
func (s stackView) Below() float64 { return plotTop + s.High + 17 }

// Height is that of the drawing with its labels.
func (s stackView) Height() float64 { return plotTop + s.High + plotFoot }

// stackPart is one part, with what it has at the peak.
type stackPart struct {
	Class, Label, Value, Share string
	Path                       string
}

// stackData is what the page's script needs to tell the parts at any moment.
type stackData struct {
	X     []float64   `json:"x"`
	Parts [][]float64 `json:"parts"`
	Peak  int         `json:"peak"`
}

// stackColours is how many colours the style sheet has for parts.
const stackColours = 8

// newStack draws a chart whose lines are parts of a whole; nil when there is no time
// between its moments, or nothing in them.
func newStack(c chart) (*stackView, error) {
	x0, x1 := rangeOf(c.axis.x)
	sums, top := sumsOf(c)
	if !(x1 > x0) || top < 0 || !(sums[top] > 0) {
		return nil, nil
	}
	ys, texts := valueTicks(0, sums[top], c.bytes)
	f := frame{x0, x1, 0, ys[len(ys)-1], leadHigh}
	s := &stackView{ID: c.id, Title: c.title, High: f.high, XTicks: axisTicks(f, c.axis.unit),
		PeakAt: f.percent(c.axis.x[top]), Anchor: "start"}
	if c.axis.x[top] > (x0+x1)/2 {
		s.Anchor = "end"
	}
	for i, y := range ys {
		s.YTicks = append(s.YTicks, tick{At: strconv.FormatFloat(plotTop+f.y(y), 'f', 1, 64), Text: texts[i]})
	}
	s.Place = fmt.Sprintf("At the peak, %s: %s", units.Seconds(c.axis.x[top]), valueText(sums[top], c.bytes))
	data := stackData{X: c.axis.x, Peak: top}
	below, names := make([]float64, len(sums)), []string{}
	for i, l := range c.lines {
		above := make([]float64, len(sums))
		for k := range above {
			above[k] = below[k] + l.v[k]
		}
		part := stackPart{Class: fmt.Sprintf("k%d", i%stackColours), Label: l.label,
			Value: valueText(l.v[top], c.bytes), Share: units.Percent(l.v[top] / sums[top]),
			Path: area(c.axis.x, below, above, f)}
		s.Parts, data.Parts = append(s.Parts, part), append(data.Parts, l.v)
		names = append(names, part.Label+" "+part.Value)
		below = above
	}
	s.Desc = s.Title + ". " + s.Place + ", of which " + strings.Join(names, ", ") + "."
	text, err := json.Marshal(data)
	s.JSON = template.JS(text)
	return s, err
}

// sumsOf are the wholes and where the largest is; -1 without any.
func sumsOf(c chart) (sums []float64, top int) {
	sums, top = make([]float64, len(c.axis.x)), -1
	for k := range sums {
		for _, l := range c.lines {
			if k >= len(l.v) || !finite(l.v[k]) {
				return nil, -1
			}
			sums[k] += l.v[k]
		}
		if math.IsNaN(sums[k]) {
			return nil, -1
		}
		if top < 0 || sums[k] > sums[top] {
			top = k
		}
	}
	return sums, top
}

// area is the outline between two lines that keep a value until the next one.
func area(x, low, high []float64, f frame) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	var b strings.Builder
	b.WriteString("M" + f.point(x[0], high[0]))
	for i := 1; i < len(x); i++ {
		b.WriteString("H" + number(f.x(x[i])))
		if high[i] != high[i-1] {
			b.WriteString("V" + number(f.y(high[i])))
		}
	}
	b.WriteString("V" + number(f.y(low[len(x)-1])))
	for i := len(x) - 1; i > 0; i-- {
		b.WriteString("H" + number(f.x(x[i])))
		if low[i] != low[i-1] {
			b.WriteString("V" + number(f.y(low[i-1])))
		}
	}
	return b.String() + "H" + number(f.x(x[0])) + "Z"
}
