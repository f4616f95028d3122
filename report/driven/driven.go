package driven

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// unit is something the program does that growth may be counted in.
type unit struct{ name, column string }

// By is the unit of work that explains a growth and its cost: in bytes, or where a
// number of things grows, in what Of calls them. Where two units drive it, And is the
// second, and Share is the part of the growth that each brings.
type By struct {
	// step, command_buffer, shape, allocation, second; sample in a recording without times
	Per string `json:"per"`
	series.Interval
	Of    string   `json:"of,omitempty"` // "handles", or the driver's "events", "streams" …; empty for bytes
	Share *float64 `json:"share,omitempty"`
	And   *By      `json:"and,omitempty"`
}

// unitsFor has them in the order in which one is preferred when several explain a growth
// equally well: the closest to the cause first. clock is the unit of time.
func unitsFor(c account.Class, clock string) []unit {
	step, alloc := unit{"step", record.ColStep}, unit{"allocation", record.ColAllocs}
	cb, shape, second := unit{"command_buffer", record.ColCommandBuffers}, unit{"shape", record.ColShapes},
		unit{clock, ""}
	switch c {
	case account.AppLeak:
		return []unit{step, cb, alloc, shape, second}
	case account.PoolGrowth:
		return []unit{shape, step, alloc, cb, second}
	}
	return []unit{cb, shape, step, alloc, second}
}

// ClockUnit is the unit of the rows' clock: a second, or a sample where there are no times.
func ClockUnit(l *series.Accounts) string {
	if l.Untimed {
		return "sample"
	}
	return "second"
}

// Two units drive a growth together when each brings leastPart of it and they
// raise the logarithm of likelihood by twoBetter above the best single one.
const (
	leastPart = .1
	twoBetter = 10.
)

// unitSeries is a unit with how far it had advanced in each block.
type unitSeries struct {
	unit
	x []float64
}

// unitFit is the growth as a sum of units, each at a cost of at least 0.
type unitFit struct {
	by        []unitSeries
	cost, err []float64
	left      []float64 // residuals
	sse       float64
}

// Find finds the one or two units that explain the growth g of a series of l, of a class,
// and their costs: a non-negative fit on every unit and every two of them. The best is
// taken, or the preferred of those as good; nil where none explains it. Growth that goes
// on while steps pause is called background, and time is one of its units.
func Find(l *series.Accounts, of series.Key, class account.Class, g *trend.Growth) (d *By, background bool) {
	rows := sampled(l, of, g)
	y := trend.BlockMeans(l.Series[of], rows)
	if len(y) < trend.MinBlocks {
		return nil, false
	}
	background = growsInPauses(l, y, rows)
	var all []unitSeries
	for _, u := range unitsFor(class, ClockUnit(l)) {
		if x := unitBlocks(l, u.column, rows); x != nil {
			all = append(all, unitSeries{u, x})
		}
	}
	// Fits that leave less than this of the variation are all as good: counters
	// are read some steps off.
	floor := max(float64(len(y))*math.Pow(g.Delta/100, 2), trend.Unexplained*stat.Variation(y))
	one := preferred(singles(all, y, background), floor)
	two := preferred(pairs(all, y, background), floor)
	switch {
	case two != nil && (one == nil || trend.Advantage(one.sse+floor, two.sse+floor, two.left) > twoBetter):
		d = two.driven(y, floor)
	case one != nil:
		d = one.alone(y, floor, .6*g.Delta)
	}
	return d, background
}

// singles fits y on each unit; in the background only time counts.
func singles(all []unitSeries, y []float64, background bool) []unitFit {
	var out []unitFit
	for _, u := range all {
		if l := stat.FitLine(u.x, y); l.B > 0 && (!background || u.column == "") {
			out = append(out, unitFit{by: []unitSeries{u}, cost: []float64{l.B}, sse: l.SSE})
		}
	}
	return out
}

// pairs fits y on every two units of which each brings its part; in the
// background one of them is time.
func pairs(all []unitSeries, y []float64, background bool) []unitFit {
	var out []unitFit
	n := len(y)
	for i, a := range all {
		for _, b := range all[i+1:] {
			if background && a.column != "" && b.column != "" {
				continue
			}
			cost, err, sse := stat.FitBeside(a.x, y, b.x) // of b beside a
			if math.IsInf(sse, 0) {
				continue
			}
			first, firstErr, _ := stat.FitBeside(b.x, y, a.x) // and of a beside b
			f := unitFit{by: []unitSeries{a, b}, cost: []float64{first[0], cost[0]},
				err: []float64{firstErr[0], err[0]}, sse: sse}
			rise := f.cost[0]*(a.x[n-1]-a.x[0]) + f.cost[1]*(b.x[n-1]-b.x[0])
			if f.part(0) < leastPart*rise || f.part(1) < leastPart*rise {
				continue
			}
			f.left = make([]float64, n)
			m := stat.Mean(y) - f.cost[0]*stat.Mean(a.x) - f.cost[1]*stat.Mean(b.x)
			for k := range y {
				f.left[k] = y[k] - m - f.cost[0]*a.x[k] - f.cost[1]*b.x[k]
			}
			out = append(out, f)
		}
	}
	return out
}

// part is how many bytes a unit brings.
func (f *unitFit) part(i int) float64 {
	x := f.by[i].x
	return f.cost[i] * (x[len(x)-1] - x[0])
}

// preferred is the first of the fits that are as good as the best; nil of none.
func preferred(fits []unitFit, floor float64) *unitFit {
	best := math.Inf(1)
	for i := range fits {
		best = math.Min(best, fits[i].sse)
	}
	for i := range fits {
		if fits[i].sse <= trend.Alike*best+floor {
			return &fits[i]
		}
	}
	return nil
}

// alone tells a single unit, its cost beside jumps and a transient; where nothing grows
// beside the jumps, as in an array that is made larger by half each time, its cost is theirs.
func (f *unitFit) alone(y []float64, floor, leap float64) *By {
	noise := math.Sqrt(floor / float64(len(y)))
	b, w := trend.SlopeOf(f.by[0].x, y, noise, leap)
	if b <= 0 {
		b, w = trend.SlopeOf(f.by[0].x, y, noise, math.Inf(1))
	}
	i := series.Rounded(b, b-w, b+w)
	if i == nil {
		return nil
	}
	return &By{Per: f.by[0].name, Interval: *i}
}

// driven tells two units, the one that brings more first. Their intervals widen
// by the residuals' autocorrelation and by what any fit may leave.
func (f *unitFit) driven(y []float64, floor float64) *By {
	rho := stat.Clamp(stat.Autocorrelation(f.left), 0, .95)
	df := math.Max(2, float64(len(y)-3)*(1-rho)/(1+rho))
	w := stat.Student(df) * math.Sqrt((1+rho)/(1-rho)*(1+floor/12/math.Max(f.sse, floor/1000)))
	all := f.part(0) + f.part(1)
	var d [2]*By
	for i := range d {
		p := stat.Round(f.part(i) / all)
		c, e := f.cost[i], w*f.err[i]
		iv := series.Rounded(c, math.Max(0, c-e), c+e)
		if iv == nil {
			return nil
		}
		d[i] = &By{Per: f.by[i].name, Share: &p, Interval: *iv}
	}
	if f.part(1) > f.part(0) {
		d[0], d[1] = d[1], d[0]
	}
	d[0].And = d[1]
	return d[0]
}

// sampled are the rows of each block that stand for it in the series that grows. What
// the program did is read at the same rows, else its pace would look like an error.
func sampled(l *series.Accounts, of series.Key, g *trend.Growth) [][]int {
	return l.LowRows(l.Series[of], g, series.Share(of))
}

// unitBlocks is how far a unit's running total had advanced in each block, time
// for no column; nil when it is unknown in one, falls, or does not rise.
func unitBlocks(l *series.Accounts, column string, rows [][]int) []float64 {
	switch column {
	case "":
		return trend.Progress(l.T, rows)
	case record.ColStep:
		return trend.Progress(l.Step, rows)
	}
	return trend.Progress(l.Cols[column], rows)
}

// growsInPauses reports whether blocks without steps, at least three of them
// and not all, show at least half of the others' growth per second.
func growsInPauses(l *series.Accounts, y []float64, rows [][]int) bool {
	if l.Step == nil {
		return false
	}
	t := trend.BlockMeans(l.T, rows)
	var still, stillT, busy, busyT float64
	pauses := 0
	for b := 1; b < len(y); b++ {
		dy, dt := y[b]-y[b-1], t[b]-t[b-1]
		if l.Step[slices.Max(rows[b])] == l.Step[slices.Min(rows[b-1])] {
			still, stillT = still+dy, stillT+dt
			pauses++
		} else {
			busy, busyT = busy+dy, busyT+dt
		}
	}
	return pauses >= 3 && busyT > 0 && busy > 0 && still/stillT >= .5*busy/busyT
}
