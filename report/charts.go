package report

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// chart is one picture: lines over the run's axis, all in one unit.
type chart struct {
	id, title string
	axis      axis
	bytes     bool // else a count
	lines     []line
	marks     []mark
	warm      float64 // end of what was left out as warm-up, on a time axis; 0 is none
	to        float64 // end of what was judged, on a time axis; 0 where that is not known
	stacked   bool    // HTML draws the lines but the first, their sum, as parts of a whole
	large     bool    // drawn higher than others
	explained bool    // a chart before says what the shade is
}

// line is one series of a chart. Values are NaN where unknown.
type line struct {
	id    string // "live", "rss": also its colour
	label string
	v     []float64
	fit   *fit // nil where nothing was fitted
}

// lineOf is the line of an account, in its colour.
func lineOf(a record.Account, v []float64) line { return line{id: string(a), label: string(a), v: v} }

// fit is a fitted line and the ends of its 95 % interval, at the ends of the
// data it was fitted to.
type fit struct {
	x, y, low, high [2]float64
	rate            string // in words: "+4.00 MiB (3.98 … 4.02) a second"
}

// axis is what samples are drawn over: seconds, else steps, else their number.
type axis struct {
	unit string // "s", "step", "sample"
	x    []float64
}

// hasTime says whether any sample knows its time.
func hasTime(run *record.Run) bool { return anyKnown(run.Samples.Column(record.ColTime)) }

func anyKnown(v []float64) bool {
	return slices.ContainsFunc(v, finite)
}

func axisOf(run *record.Run) axis {
	if t := run.Samples.Column(record.ColTime); anyKnown(t) {
		x := make([]float64, len(t))
		for i, ms := range t {
			x[i] = ms / 1000
		}
		return axis{"s", x}
	}
	if s := run.Samples.Column(record.ColStep); anyKnown(s) {
		return axis{"step", s}
	}
	x := make([]float64, run.Samples.Len())
	for i := range x {
		x[i] = float64(i + 1)
	}
	return axis{"sample", x}
}

// chartsOf are the ledgers and counts that the run has, over its axis, with
// what the verdict fitted to them. A single sample makes no chart.
func chartsOf(run *record.Run, v *verdict.Verdict) []chart {
	if run.Samples.Len() < 2 {
		return nil
	}
	ax := axisOf(run)
	var out []chart
	add := func(id, title string, bytes bool, lines []line) {
		lines = slices.DeleteFunc(lines, func(l line) bool { return !anyKnown(l.v) })
		if len(lines) == 0 {
			return
		}
		c := chart{id: id, title: title, axis: ax, bytes: bytes, lines: lines}
		c.judged(run, v)
		c.explained = len(out) > 0
		out = append(out, c)
	}
	l := ledgerOf(run, v)
	col := func(name string) []float64 { return account.Column(run.Samples, name) }
	add("device", "Device memory", true, deviceLines(run, l))
	add("host", "Host memory", true, hostLines(run, l))
	add("count", "Handles", false, []line{
		lineOf(record.AccountLive, moving(col(record.ColLiveCount))),
		lineOf(record.AccountIdle, moving(col(record.ColIdleCount)))})
	add("inflight", "Command buffers in flight", false, []line{
		{id: string(record.AccountUntracked), label: "committed, not completed",
			v: moving(col(record.ColInFlight))}})
	return out
}

// judged puts into a chart what the verdict looked at: the warm-up that it left
// out and the lines that it fitted, and the run's marks. All of it has times.
func (c *chart) judged(run *record.Run, v *verdict.Verdict) {
	if c.axis.unit != "s" {
		return
	}
	c.marks, _ = marksOf(run)
	w := v.Window
	if w.ToMs <= w.FromMs {
		return
	}
	from, to := (w.FromMs+w.WarmupMs)/1000, w.ToMs/1000
	c.to = to
	if lo, _ := rangeOf(c.axis.x); from > lo {
		c.warm = from
	}
	for i := range c.lines {
		if rate := growingRate(v, c.lines[i].id); c.bytes && rate != nil {
			c.lines[i].fit = fitted(c.axis.x, c.lines[i].v, rate, from, to, "a second")
		}
	}
}

// lastOf is the last known value of a line in what was judged: after that a program
// gives up what it held, and says nothing of its growth. Where nothing was judged it
// is the last of all.
func (c *chart) lastOf(l line) float64 {
	const slack = 1e-9 // s, for what arithmetic does to a time
	if c.to <= 0 {
		_, last := ends(l.v)
		return last
	}
	last := math.NaN()
	for i, y := range l.v {
		if finite(y) && c.axis.x[i] <= c.to+slack {
			last = y
		}
	}
	return last
}

// growingRate is the rate of an account that grows; nil of any other line.
func growingRate(v *verdict.Verdict, account string) *verdict.Interval {
	for _, row := range v.Accounts {
		if string(row.Account) == account && row.Shape == trend.Growing {
			return row.PerSecond
		}
	}
	return nil
}

// fitted is a rate with its interval from one place of the axis to another,
// through the middle of the samples between them; nil when there are too few.
func fitted(x, v []float64, rate *verdict.Interval, from, to float64, per string) *fit {
	var sx, sy, n float64
	first, last := math.Inf(1), math.Inf(-1)
	for i, y := range v {
		if x[i] >= from && x[i] <= to && finite(y) {
			sx, sy, n = sx+x[i], sy+y, n+1
			first, last = min(first, x[i]), max(last, x[i])
		}
	}
	if n < 3 || !(last > first) {
		return nil
	}
	at := func(slope float64) [2]float64 {
		return [2]float64{sy/n + slope*(first-sx/n), sy/n + slope*(last-sx/n)}
	}
	f := &fit{x: [2]float64{first, last}, y: at(rate.Value), low: at(rate.Low), high: at(rate.High),
		rate: intervalText(rate) + " " + per}
	if !finite(f.y[0] + f.y[1] + f.low[0] + f.low[1] + f.high[0] + f.high[1]) {
		return nil
	}
	return f
}

// deviceLines are the device's ledger; the total comes first, so that the
// accounts are drawn over it.
func deviceLines(run *record.Run, l *account.Ledger) []line {
	gpu := account.Column(run.Samples, record.ColGPU)
	untracked := l.Untracked
	if !l.Owned() {
		untracked = nil // it is the total again
	}
	return []line{
		{id: "gpu", label: "process on the GPU", v: gpu},
		lineOf(record.AccountLive, l.Live),
		lineOf(record.AccountIdle, l.Idle),
		lineOf(record.AccountUntracked, untracked)}
}

// hostLines are the host account and what else is known of host memory, unless
// it is the same line again.
func hostLines(run *record.Run, l *account.Ledger) []line {
	col := func(name string) []float64 { return account.Column(run.Samples, name) }
	lines := []line{{id: string(record.AccountHost), label: hostLabel(l), v: l.ShownHost()}}
	for _, l := range []line{
		{id: "footprint", label: "footprint", v: col(record.ColFootprint)},
		{id: "rss", label: "resident (RSS)", v: col(record.ColRSS)},
		{id: "heap", label: "heap in use", v: col(record.ColHostHeap)},
		{id: "file", label: fileCacheLabel(run.Samples), v: moving(fileCacheOf(run.Samples))},
	} {
		if !slices.ContainsFunc(lines, func(o line) bool { return same(o.v, l.v) }) {
			lines = append(lines, l)
		}
	}
	return lines
}

// hostLabel says what the host account is made of.
func hostLabel(l *account.Ledger) string {
	label := "host (resident, RSS"
	switch {
	case l.Footprint:
		label = "host (footprint"
	case l.RSSAnon:
		label = "host (RSS less file pages"
	}
	if l.Unified {
		label += " less device bytes"
	}
	return label + ")"
}

// ledgerOf charges a run's rows, as the verdict on it does.
func ledgerOf(run *record.Run, v *verdict.Verdict) *account.Ledger {
	return account.New(func(name string) []float64 {
		return account.Column(run.Samples, name)
	}, v.Unified.Of(run.Meta))
}

// same reports whether two series show the same line.
func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return x == y || record.IsUnknown(x) && record.IsUnknown(y)
	})
}

// moving drops a line that never changes, which in the lesser charts says
// nothing.
func moving(v []float64) []float64 {
	lo, hi := rangeOf(v)
	if !(hi > lo) {
		return nil
	}
	return v
}

// beyond is total less its known parts, nil when a part is not measured at
// all: what remains would not be what it is called.
func beyond(total []float64, parts ...[]float64) []float64 {
	if total == nil {
		return nil
	}
	out := slices.Clone(total)
	for _, p := range parts {
		if p == nil {
			return nil
		}
		for i := range out {
			out[i] -= p[i]
		}
	}
	return out
}

// finite reports whether x is known and can be drawn.
func finite(x float64) bool { return x-x == 0 }

// rangeOf is the least and greatest known value, NaN when there is none.
func rangeOf(v []float64) (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	for _, x := range v {
		if !(x >= lo) && finite(x) {
			lo = x
		}
		if !(x <= hi) && finite(x) {
			hi = x
		}
	}
	return lo, hi
}

// changeBetween is the last known value up to a time less the first one from a
// time on; of all samples where none has a time.
func changeBetween(t, v []float64, fromMs, toMs float64) (float64, bool) {
	timed := anyKnown(t)
	const slack = 1e-6 // ms, for what arithmetic does to a time
	first, last, known := 0., 0., 0
	for i, x := range v {
		if inside := !timed || t[i] >= fromMs-slack && t[i] <= toMs+slack; !inside || !finite(x) {
			continue
		}
		if known == 0 {
			first = x
		}
		last = x
		known++
	}
	return last - first, known > 1
}
