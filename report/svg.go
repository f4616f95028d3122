package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
)

// Size of the plots in the page: the drawing is plotWide units across,
// stretched to the reader's width, and plotHigh or leadHigh pixels high.
const (
	plotWide = 1000.0
	plotHigh = 210.0
	leadHigh = 290.0
	plotTop  = 18.0 // pixels above the drawing, for the labels of marks
	plotFoot = 24.0 // pixels below it, for those of the axis
	// buckets is in how many parts the axis is cut for drawing.
	buckets = 600
)

// plot is a chart ready for the page. Percentages are of the plot's width, so
// that text keeps its size on every screen.
type plot struct {
	ID, Title, Desc string
	Note            string // what the dashed lines and shades are
	Lines           []plotLine
	XTicks, YTicks  []tick
	Marks           []plotMark
	WarmW           string  // how far from the left is shaded, in percent; empty when nothing is
	High            float64 // of the drawing alone, in pixels
	Data            chartData
}

type plotLine struct {
	ID, Label, Last string
	Path            string
	Fit, Band       string // paths of the fitted line and its interval
	Swing           string // path of the band that a swinging line is drawn as
}

type tick struct{ At, Text, Anchor string }

type plotMark struct {
	At, Text, Anchor string
	Full             string // Text with its time and outcome
	Receipt          bool
	Labelled         bool
}

// Height is that of the drawing with its labels, in pixels.
func (p plot) Height() float64 { return plotTop + p.High + plotFoot }

// Foot is where the drawing ends.
func (p plot) Foot() float64 { return plotTop + p.High }

// Below is where the axis has its labels.
func (p plot) Below() float64 { return plotTop + p.High + 17 }

// frame maps values to the drawing, which is so many pixels high.
type frame struct{ x0, x1, y0, y1, high float64 }

func (f frame) x(v float64) float64 { return (v - f.x0) / (f.x1 - f.x0) * plotWide }
func (f frame) y(v float64) float64 { return f.high - (v-f.y0)/(f.y1-f.y0)*f.high }

func (f frame) percent(v float64) string {
	return strconv.FormatFloat((v-f.x0)/(f.x1-f.x0)*100, 'f', 2, 64) + "%"
}

func (f frame) point(x, y float64) string {
	return strconv.FormatFloat(f.x(x), 'f', 1, 64) + " " + strconv.FormatFloat(f.y(y), 'f', 1, 64)
}

// newPlot draws a chart; false when its axis has no extent.
func newPlot(c chart) (plot, bool) {
	x0, x1 := rangeOf(c.axis.x)
	if !(x1 > x0) || math.IsInf(x0, 0) || math.IsInf(x1, 0) {
		return plot{}, false
	}
	y0, y1 := heightsOf(c.lines)
	if math.IsInf(y0, 0) || math.IsInf(y1, 0) || math.IsNaN(y0) {
		return plot{}, false
	}
	yTicks, yTexts := valueTicks(y0, y1, c.bytes)
	f := frame{x0, x1, yTicks[0], yTicks[len(yTicks)-1], plotHigh}
	if c.large {
		f.high = leadHigh
	}
	p := plot{ID: c.id, Title: c.title, Desc: describe(c), Note: noteOf(c, f), High: f.high}
	for i, y := range yTicks {
		p.YTicks = append(p.YTicks, tick{At: strconv.FormatFloat(plotTop+f.y(y), 'f', 1, 64),
			Text: yTexts[i]})
	}
	p.XTicks = axisTicks(f, c.axis.unit)
	bands := bandsOf(c, f)
	p.Data = chartData{Data: newSeriesData(c, f, bands)}
	if c.warm-f.x0 >= leastShade*(f.x1-f.x0) {
		warm := min(c.warm, f.x1)
		p.WarmW, p.Data.Warm = f.percent(warm), &warm
	}
	for i, l := range c.lines {
		if t := l.fit; t != nil {
			p.Data.Fits = append(p.Data.Fits, fitData{l.id, t.x, t.y, t.low, t.high})
		}
		if b := bands[i]; b != nil {
			p.Data.Bands = append(p.Data.Bands, bandData{l.id, b.x, b.low, b.high})
		}
		p.Lines = append(p.Lines, drawLine(c, l, f, bands[i]))
	}
	if len(p.Data.Bands) > 0 {
		p.Note = strings.TrimSpace(p.Note + " " + swingNote)
	}
	p.Marks = drawMarks(c, f, &p.Data)
	return p, true
}

// heightsOf are the least and the greatest value of all lines, not a number where none
// has a value.
func heightsOf(lines []line) (least, greatest float64) {
	least, greatest = math.NaN(), math.NaN()
	for _, l := range lines {
		lo, hi := rangeOf(l.v)
		if !(least <= lo) {
			least = lo
		}
		if !(greatest >= hi) {
			greatest = hi
		}
	}
	return least, greatest
}

// swingNote says what the band of a swinging line is.
const swingNote = "A line that swings is drawn as the band from its least to its greatest values, " +
	"with its mean."

// leastShade is the part of the picture from which on a shade can be seen.
const leastShade = 0.005

// noteOf says what the dashed lines and the shades of a chart are.
func noteOf(c chart, f frame) string {
	var b strings.Builder
	var last *fit
	for _, l := range c.lines {
		switch t := l.fit; {
		case t == nil:
			continue
		case last == nil || last.x != t.x:
			fmt.Fprintf(&b, "Dashed, in its 95 %% band: growth fitted from %s to %s: ",
				placeText(t.x[0], c.axis), placeText(t.x[1], c.axis))
		default:
			b.WriteString("; ")
		}
		last = l.fit
		fmt.Fprintf(&b, "%s %s", l.label, l.fit.rate)
	}
	if last != nil {
		b.WriteString(".")
	}
	if !c.explained && c.to > 0 && f.x1-c.to >= leastShade*(f.x1-f.x0) {
		fmt.Fprintf(&b, " Values are those at %s, the end of the judged window.", placeText(c.to, c.axis))
	}
	if !c.explained && c.warm-f.x0 >= leastShade*(f.x1-f.x0) {
		fmt.Fprintf(&b, " Shaded: warm-up to %s, left out.", placeText(c.warm, c.axis))
	}
	return strings.TrimSpace(b.String())
}

// placeText is a place on an axis in words.
func placeText(x float64, a axis) string {
	if a.unit == "s" {
		return units.Seconds(x)
	}
	return a.unit + " " + units.Count(int64(math.Round(x)))
}

func valueText(v float64, bytes bool) string {
	if bytes {
		return units.Bytes(v)
	}
	return units.Count(int64(v))
}

// describe says in words what the picture shows.
func describe(c chart) string {
	parts := make([]string, len(c.lines))
	for i, l := range c.lines {
		first, _ := ends(l.v)
		last := c.lastOf(l)
		parts[i] = fmt.Sprintf("%s from %s to %s", l.label, valueText(first, c.bytes),
			valueText(last, c.bytes))
	}
	return c.title + " over " + axisName(c.axis) + ": " + strings.Join(parts, ", ") + "."
}

func drawLine(c chart, l line, f frame, b *band) plotLine {
	out := plotLine{ID: l.id, Label: l.label, Last: valueText(c.lastOf(l), c.bytes)}
	r := reduce(c.axis.x, l.v, f.x0, f.x1, buckets)
	if b != nil {
		r, out.Swing = reduced{b.x, b.mean}, b.path(f)
	}
	var path strings.Builder
	r.each(func(x, y float64, gap bool) {
		if gap {
			path.WriteByte('M')
		} else {
			path.WriteByte('L')
		}
		path.WriteString(f.point(x, y))
	})
	out.Path = path.String()
	if strings.IndexByte(out.Path, 'L') < 0 {
		out.Path += "h4" // a single value shows as a dash
	}
	if t := l.fit; t != nil {
		at := func(k int, y [2]float64) string { return f.point(t.x[k], y[k]) }
		out.Fit = "M" + at(0, t.y) + "L" + at(1, t.y)
		out.Band = "M" + at(0, t.low) + "L" + at(1, t.low) + "L" + at(1, t.high) + "L" + at(0, t.high) + "Z"
	}
	return out
}

// drawMarks places the marks, in the picture and in the data; of those too
// close together only the first is labelled.
func drawMarks(c chart, f frame, data *chartData) []plotMark {
	const letter = 0.021 // of the width that a letter needs on a phone
	var out []plotMark
	last := math.Inf(-1)
	for _, m := range c.marks {
		if m.seconds < f.x0 || m.seconds > f.x1 {
			continue
		}
		part := (m.seconds - f.x0) / (f.x1 - f.x0)
		pm := plotMark{At: f.percent(m.seconds), Text: m.label, Full: m.text(), Anchor: "start",
			Receipt: m.receipt}
		apart := letter * float64(cells(m.label)+1)
		from, to := part, part+apart
		if to > 1 {
			pm.Anchor, from, to = "end", part-apart, part
		}
		if pm.Labelled = from >= last; pm.Labelled {
			last = to
		}
		out = append(out, pm)
		data.Marks = append(data.Marks, markData{m.seconds, m.label, m.receipt})
	}
	return out
}

// valueTicks are round values around [lo, hi], four to seven of them, and
// their texts in one unit; they begin at zero unless the data lies far above.
func valueTicks(lo, hi float64, bytes bool) (at []float64, text []string) {
	if lo > 0 && lo < hi*0.6 {
		lo = 0
	}
	if !(hi > lo) {
		lo, hi = math.Min(lo, 0), math.Max(hi, 1)
	}
	size, unit := 1.0, ""
	if bytes {
		size, unit = units.Scale(math.Max(math.Abs(lo), math.Abs(hi)))
		unit = " " + unit
	}
	step := niceStep((hi - lo) / 4 / size)
	if !bytes || size == 1 {
		step = math.Max(step, 1)
	}
	prec := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	first := math.Floor(lo / size / step)
	for k := 0.0; k < 12; k++ {
		y := (first + k) * step
		label := units.Fixed(y, prec) + unit
		switch {
		case y == 0:
			label = "0"
		case !bytes:
			label = units.Count(int64(math.Round(y)))
		}
		at, text = append(at, y*size), append(text, label)
		if y*size >= hi {
			break
		}
	}
	return at, text
}

// niceStep is the round number at or above raw: 1, 2 or 5 by a power of ten.
func niceStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(math.Max(raw, 1e-12))))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*0.999 {
			return m * power
		}
	}
	return 10 * power
}

// timeSteps are round distances on a time axis, in seconds.
var timeSteps = [...]float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120,
	300, 600, 900, 1800,
	3600, 7200, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 30 * 86400, 365 * 86400}

// axisTicks are three to six round places on the axis, the outer ones anchored
// inward.
func axisTicks(f frame, unit string) []tick {
	span := f.x1 - f.x0
	step := math.Max(niceStep(span/5), 1)
	if unit == "s" {
		step = timeSteps[len(timeSteps)-1]
		for _, s := range timeSteps {
			if s >= span/5.5 {
				step = s
				break
			}
		}
	}
	var out []tick
	for k := 0; k < 12; k++ {
		x := (math.Ceil(f.x0/step-1e-9) + float64(k)) * step
		if x > f.x1+1e-9*span {
			break
		}
		t := tick{At: f.percent(x), Anchor: "middle", Text: axisText(x, step, unit)}
		switch part := (x - f.x0) / span; {
		case part < 0.03:
			t.Anchor = "start"
		case part > 0.97:
			t.Anchor = "end"
		}
		out = append(out, t)
	}
	return out
}

func axisText(x, step float64, unit string) string {
	if unit != "s" {
		return unit + " " + units.Count(int64(math.Round(x)))
	}
	if math.Abs(x) < step/1e6 {
		return "0 s"
	}
	number, unit, _ := strings.Cut(units.Seconds(x), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}
