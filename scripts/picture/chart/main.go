// Command chart draws columns of a run's samples.csv as an SVG: stdin to stdout.
// The first column is the time in milliseconds, those before "--" are stacked as areas,
// those behind it are lines; each has its label behind a colon:
//
//	chart TITLE TIME COLUMN:LABEL… [-- COLUMN:LABEL…] <samples.csv
//
// Rows of other processes than the first are left out, and so are empty cells.
package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The drawing, in units of the viewBox.
const (
	wide, high         = 720.0, 300.0
	left, top          = 70.0, 64.0
	plotWide, plotHigh = wide - left - 16, high - top - 34
	mib                = 1 << 20
	pidName            = "pid"
)

// series is one column: its values by row, and where it is drawn.
type series struct {
	column, label string
	area          bool
	values        []float64
}

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) < 3 {
		return errors.New("usage: chart TITLE TIME COLUMN:LABEL… [-- COLUMN:LABEL…] <samples.csv")
	}
	var all []*series
	area := true
	for _, a := range args[2:] {
		if a == "--" {
			area = false
			continue
		}
		column, label, _ := strings.Cut(a, ":")
		all = append(all, &series{column: column, label: label, area: area})
	}
	times, err := read(in, args[1], all)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, draw(args[0], thin(times, all), all))
	return err
}

// most bounds the points of a line; more cannot be told apart.
const most = 300

// thin keeps at most so many rows, evenly.
func thin(times []float64, all []*series) []float64 {
	every := len(times)/most + 1
	keep := func(v []float64) []float64 {
		var out []float64
		for i := 0; i < len(v); i += every {
			out = append(out, v[i])
		}
		return out
	}
	for _, s := range all {
		s.values = keep(s.values)
	}
	return keep(times)
}

// read fills the series and returns the seconds of the rows that have them all.
func read(in io.Reader, clock string, all []*series) ([]float64, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1 // a run that was killed ends in half a row
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	names := []string{clock}
	for _, s := range all {
		names = append(names, s.column)
	}
	var at []int
	for _, name := range names {
		i := slices.Index(head, name)
		if i < 0 {
			return nil, fmt.Errorf("samples.csv has no column %s", name)
		}
		at = append(at, i)
	}
	pid, first := slices.Index(head, pidName), ""
	var times []float64
	for {
		row, err := r.Read()
		if err != nil {
			if len(times) < 2 {
				return nil, errors.New("fewer than two rows have all columns")
			}
			return times, nil
		}
		if pid >= 0 && pid < len(row) {
			if first == "" {
				first = row[pid]
			}
			if row[pid] != first {
				continue
			}
		}
		if cells, ok := numbers(row, at); ok {
			times = append(times, cells[0]/1000)
			for i, s := range all {
				s.values = append(s.values, cells[i+1]/mib)
			}
		}
	}
}

// numbers are the cells at these places; not ok where one is missing or empty.
func numbers(row []string, at []int) ([]float64, bool) {
	var out []float64
	for _, i := range at {
		if i >= len(row) {
			return nil, false
		}
		v, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

func draw(title string, times []float64, all []*series) string {
	highest := 1.0
	base := make([]float64, len(times))
	for _, s := range all {
		for i, v := range s.values {
			if s.area {
				v += base[i]
				base[i] = v
			}
			highest = max(highest, v)
		}
	}
	unit := step(highest)
	highest = unit * float64(int(highest/unit)+1)
	x := func(t float64) float64 { return left + (t-times[0])/(times[len(times)-1]-times[0])*plotWide }
	y := func(v float64) float64 { return top + plotHigh*(1-v/highest) }
	var b strings.Builder
	fmt.Fprintf(&b, head, wide, high, html.EscapeString(title), html.EscapeString(title))
	for v := 0.0; v <= highest; v += unit {
		fmt.Fprintf(&b, `<path class="grid" d="M%g %.1fH%g"/>`+"\n", left, y(v), wide-16)
		fmt.Fprintf(&b, `<text x="%g" y="%.1f" text-anchor="end">%g MiB</text>`+"\n", left-8, y(v)+4, v)
	}
	for i := range 5 {
		t := times[0] + (times[len(times)-1]-times[0])*float64(i)/4
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%.1f s</text>`+"\n", x(t), high-10, t)
	}
	clear(base)
	for n, s := range all {
		drawSeries(&b, n, s, base, times, x, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawSeries draws one series and its entry in the legend. base is what areas below
// it have come to; an area adds itself.
func drawSeries(b *strings.Builder, n int, s *series, base, times []float64, x, y func(float64) float64) {
	path := strings.Builder{}
	for i, v := range s.values {
		if s.area {
			v += base[i]
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x(times[i]), y(v))
	}
	class := "line"
	if s.area {
		class = "area"
		for i := len(times) - 1; i >= 0; i-- {
			fmt.Fprintf(&path, "L%.1f %.1f", x(times[i]), y(base[i]))
			base[i] += s.values[i]
		}
	}
	fmt.Fprintf(b, `<path class="%s c%d" d="%s"/>`+"\n", class, n, path.String())
	at := left + float64(n)*150
	fmt.Fprintf(b, `<path class="%s c%d" d="M%g 38h22v10h-22z"/><text x="%g" y="48">%s</text>`+"\n",
		class, n, at, at+30, html.EscapeString(s.label))
}

// step is a round distance of grid lines, of which three to eight fit.
func step(highest float64) float64 {
	unit := 1.0
	for {
		for _, k := range []float64{1, 2, 5} {
			if highest/(unit*k) < 6 {
				return unit * k
			}
		}
		unit *= 10
	}
}

const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s">
<style>
svg { font: 13px system-ui, sans-serif } text { fill: #333 } .title { font-weight: 600; font-size: 15px }
.grid { stroke: #ddd } .line { fill: none; stroke-width: 2 } .area { stroke: none; fill-opacity: .8 }
.area.c0 { fill: #2f7f79 } .area.c1 { fill: #d9a441 } .line { stroke: #b23a1e }
.line.c1 { stroke: #44546a } .line.c2 { stroke: #b23a1e }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .grid { stroke: #444 } .line.c1 { stroke: #9fb3cc } }
</style>
<text class="title" x="16" y="22">%s</text>
`
