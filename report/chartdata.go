package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// dataBuckets is in how many parts the axis is cut for the interactive charts.
// It bounds the page: two values a part and line, about ten bytes each.
const dataBuckets = 1000

// chartData is a chart for the page's script.
type chartData struct {
	// Data is one common axis, and for every line two values a part of it.
	Data json.RawMessage `json:"data"`
	// Warm is the end of what was left out as warm-up.
	Warm  *float64   `json:"warm,omitempty"`
	Marks []markData `json:"marks,omitempty"`
	Fits  []fitData  `json:"fits,omitempty"`
	Bands []bandData `json:"bands,omitempty"`
}

type markData struct {
	X       float64 `json:"x"`
	Label   string  `json:"label"`
	Receipt bool    `json:"receipt,omitempty"`
}

// fitData is a fit for the page's script.
type fitData struct {
	Line string     `json:"line"`
	X    [2]float64 `json:"x"`
	Y    [2]float64 `json:"y"`
	Low  [2]float64 `json:"low"`
	High [2]float64 `json:"high"`
}

// bandData is a band for the page's script: its line in Data is the mean.
type bandData struct {
	Line string    `json:"line"`
	X    []float64 `json:"x"`
	Low  []float64 `json:"low"`
	High []float64 `json:"high"`
}

// json is the data as a script may hold it: encoding/json escapes "<", ">"
// and "&", so that no label can end the element.
func (d *chartData) json() (string, error) {
	b, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("encode chart: %w", err)
	}
	return string(b), nil
}

// newSeriesData is the axis and the lines of a chart, cut to be drawn. In it
// null breaks a line and false does not: there a sample lacks this value.
func newSeriesData(c chart, f frame, bands []*band) json.RawMessage {
	parts := make([]reduced, len(c.lines))
	for i, l := range c.lines {
		parts[i] = reduce(c.axis.x, l.v, f.x0, f.x1, dataBuckets)
		if bands[i] != nil {
			parts[i] = bands[i].flattened(parts[i])
		}
	}
	used := make([]bool, len(parts[0].x))
	for i := range used {
		for _, p := range parts {
			used[i] = used[i] || finite(p.y[i])
		}
	}
	b := []byte("[[")
	for i, x := range parts[0].x {
		if used[i] {
			b = appendNumber(b, x)
		}
	}
	b = append(trimComma(b), ']')
	for _, p := range parts {
		b = append(b, ',', '[')
		breaks := p.breaks()
		for i, y := range p.y {
			switch {
			case !used[i]:
			case !finite(y) && !breaks[i]:
				b = append(b, "false,"...)
			default:
				b = appendNumber(b, y)
			}
		}
		b = append(trimComma(b), ']')
	}
	return append(b, ']')
}

// breaks marks the points of stretches over which the line is broken.
func (r *reduced) breaks() []bool {
	out := make([]bool, len(r.y))
	longest, last := r.longestGap(), -1
	for i := range len(r.y) + 1 {
		if i < len(r.y) && !finite(r.y[i]) {
			continue
		}
		for k := last + 1; k < i && (last < 0 || i == len(r.y) || i-last > longest); k++ {
			out[k] = true
		}
		last = i
	}
	return out
}

func appendNumber(b []byte, v float64) []byte {
	if !finite(v) {
		return append(b, "null,"...)
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return append(strconv.AppendInt(b, int64(v), 10), ',')
	}
	return append(strconv.AppendFloat(b, v, 'g', 7, 64), ',')
}

func trimComma(b []byte) []byte {
	if b[len(b)-1] == ',' {
		return b[:len(b)-1]
	}
	return b
}
