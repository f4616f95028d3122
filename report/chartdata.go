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
	// Y is the range of the values while nothing is zoomed.
	Y [2]float64 `json:"y"`
	// Warm is the end of what was left out as warm-up.
	Warm  *float64   `json:"warm,omitempty"`
	Marks []markData `json:"marks,omitempty"`
	Fits  []fitData  `json:"fits,omitempty"`
}

type markData struct {
	X       float64 `json:"x"`
	Label   string  `json:"label"`
	Receipt bool    `json:"receipt,omitempty"`
}

// fitData is a fitted line: its ends, and those of its interval.
type fitData struct {
	Line string     `json:"line"`
	X    [2]float64 `json:"x"`
	Y    [2]float64 `json:"y"`
	Low  [2]float64 `json:"low"`
	High [2]float64 `json:"high"`
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

// newSeriesData cuts the lines of a chart to the parts of its axis.
func newSeriesData(c chart, f frame) json.RawMessage {
	n := dataBuckets
	if len(c.axis.x) < n/2 {
		n = max(2*len(c.axis.x), 2)
	}
	parts := make([]reduced, len(c.lines))
	for i, l := range c.lines {
		parts[i] = reduce(c.axis.x, l.v, f.x0, f.x1, n)
	}
	width := (f.x1 - f.x0) / float64(n)
	used := func(k int) bool {
		for i := range parts {
			if !math.IsNaN(parts[i].first[k]) {
				return true
			}
		}
		return false
	}
	b := []byte("[[")
	for k := range n {
		if used(k) {
			b = appendNumber(b, f.x0+(float64(k)+.25)*width)
			b = appendNumber(b, f.x0+(float64(k)+.75)*width)
		}
	}
	b = append(trimComma(b), ']')
	for i := range parts {
		b = append(b, ',', '[')
		for k := range n {
			if used(k) {
				b = appendNumber(b, parts[i].first[k])
				b = appendNumber(b, parts[i].second[k])
			}
		}
		b = append(trimComma(b), ']')
	}
	return append(b, ']')
}

func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
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
