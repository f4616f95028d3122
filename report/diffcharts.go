package report

import (
	"math"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// diffParts bounds into how many equal parts the compared span is cut, to take
// one run from the other: they have no samples at the same places.
const (
	leastDiffParts = 20
	mostDiffParts  = 200
)

// diffCharts are the differences of the accounts with their 95 % bands, and
// both runs in one chart an account, over the axis that they were aligned by.
func diffCharts(a, b judgedSide, d *verdict.Difference) []chart {
	if !(d.Compared > 0) {
		return nil
	}
	unit := map[string]string{"step": "step", "second": "s"}[d.AlignedBy]
	xa, xb := sinceStart(a.run, unit), sinceStart(b.run, unit)
	if xa == nil || xb == nil {
		return nil
	}
	axa, axb := within(xa, xa, d.Compared), within(xb, xb, d.Compared)
	parts := min(max(min(len(axa), len(axb))/4, leastDiffParts), mostDiffParts)
	delta := chart{id: "delta", title: "New less base", bytes: true,
		axis: axis{unit, middles(d.Compared, parts)}}
	both := []chart{}
	for _, row := range d.Rows {
		va, vb := within(xa, accountSeries(a.run, d.Base, row.Account), d.Compared),
			within(xb, accountSeries(b.run, d.New, row.Account), d.Compared)
		if !anyKnown(va) || !anyKnown(vb) || zero(va) && zero(vb) {
			continue
		}
		id := string(row.Account)
		l := line{id: id, label: id, v: beyond(means(axb, vb, d.Compared, parts),
			means(axa, va, d.Compared, parts))}
		if row.PerUnit != nil {
			l.fit = fitted(delta.axis.x, l.v, row.PerUnit, 0, d.Compared, "a "+d.AlignedBy)
		}
		if anyKnown(l.v) {
			delta.lines = append(delta.lines, l)
		}
		both = append(both, chart{id: "both-" + id, title: "Both runs: " + id, bytes: true,
			axis: axis{unit, append(slices.Clone(axa), axb...)},
			lines: []line{
				{id: "base", label: "base", v: append(slices.Clone(va), unknowns(len(vb))...)},
				{id: "new", label: "new", v: append(unknowns(len(va)), vb...)},
			}})
	}
	if len(delta.lines) == 0 {
		return nil
	}
	return append([]chart{delta}, both...)
}

// sinceStart are a run's places on the axis counted from its first one; nil
// when the run has none.
func sinceStart(run *record.Run, unit string) []float64 {
	v, size := run.Samples.Column(record.ColTime), 1000.0
	if unit == "step" {
		v, size = run.Samples.Column(record.ColStep), 1
	}
	first, _ := ends(v)
	if !finite(first) {
		return nil
	}
	x := make([]float64, len(v))
	for i := range v {
		x[i] = (v[i] - first) / size
	}
	return x
}

// zero reports that a series holds nothing at any time.
func zero(v []float64) bool {
	lo, hi := rangeOf(v)
	return lo == 0 && hi == 0
}

// within are the values of v whose places lie on the compared span: of what only
// the longer run has nothing can be said here.
func within(x, v []float64, span float64) []float64 {
	var out []float64
	for i, y := range v {
		if x[i] >= 0 && x[i] <= span {
			out = append(out, y)
		}
	}
	return out
}

// accountSeries is an account's bytes over a run; nil when they are not known.
func accountSeries(run *record.Run, v *verdict.Verdict, of verdict.Account) []float64 {
	l := ledgerOf(run, v)
	switch of {
	case verdict.Live:
		return l.Live
	case verdict.Idle:
		return l.Idle
	case verdict.Untracked:
		return l.Untracked
	}
	return l.ShownHost()
}

// middles are the middles of n equal parts of span.
func middles(span float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = (float64(i) + .5) * span / float64(n)
	}
	return out
}

// means are the means of v in n equal parts of span; unknown where a part has
// no sample.
func means(x, v []float64, span float64, n int) []float64 {
	sum, count := make([]float64, n), make([]float64, n)
	for i, y := range v {
		if finite(y) && x[i] >= 0 && x[i] <= span {
			k := min(int(x[i]/span*float64(n)), n-1)
			sum[k], count[k] = sum[k]+y, count[k]+1
		}
	}
	for k := range sum {
		sum[k] /= count[k] // 0/0 is unknown
	}
	return sum
}

func unknowns(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}

// changed is a thing that holds bytes in one run, the other, or both.
type changed struct {
	name                string
	base, new           float64
	inBase, inNew       bool
	baseCount, newCount int64
}

func (c *changed) what() string {
	switch {
	case !c.inBase:
		return "new"
	case !c.inNew:
		return "gone"
	case c.new > c.base:
		return "grown"
	}
	return "shrunk"
}

// changedTable has a row a thing that differs, largest difference first; nil
// when nothing does.
func changedTable(caption, head string, list []changed) *table {
	t := &table{head: []column{{title: head}, {title: "in new"}, {title: "base", right: true},
		{title: "new", right: true}, {title: "difference", right: true}, {title: "count", right: true}}}
	same := 0
	for _, c := range list {
		if c.new == c.base && c.baseCount == c.newCount && c.inBase && c.inNew {
			same++
			continue
		}
		if len(t.rows) < maxRows {
			t.rows = append(t.rows, []string{c.name, c.what(), bytesOrNone(c.base, c.inBase),
				bytesOrNone(c.new, c.inNew),
				units.Growth(c.new - c.base), units.CountGrowth(c.newCount - c.baseCount)})
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	t.caption = captionOf(caption, len(list)-same)
	switch {
	case same == 1:
		t.caption += " One more is the same in both."
	case same > 1:
		t.caption += " " + units.Count(int64(same)) + " more are the same in both."
	}
	return t
}

func bytesOrNone(b float64, there bool) string {
	if !there {
		return units.Unknown
	}
	return units.Bytes(b)
}

// withoutLine is a site without its line: an edit above it moves it, and it
// still is the same.
func withoutLine(site string) string {
	place, name, ok := strings.Cut(site, " ")
	file, _, hasLine := strings.Cut(place, ":")
	if !ok || !hasLine || name == "" {
		return site
	}
	return file + " " + name
}
