package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// examined is a process with the growth of each of its series.
type examined struct {
	process
	grow    [keys]trend.Growth
	kind    account.HandleKind // of keyHandles
	tested  []float64          // p-values of all kinds of handles
	records driverRecords
}

// examine tests each series of a process for growth.
func examine(p process, c trend.Conditions) *examined {
	x := &examined{process: p}
	for k := key(0); k < keys; k++ {
		x.grow[k] = x.judged.Examine(x.judged.series[k], x.judged.question(k, c))
	}
	x.examineHandles(c)
	x.records = x.findRecords()
	return x
}

// examineHandles tests how many of each kind of handle are alive. The kind that
// grows with the most evidence becomes keyHandles; it counts where no bytes
// grow, since a handle costs little that a threshold of bytes would show.
func (x *examined) examineHandles(c trend.Conditions) {
	for _, k := range account.HandleKinds() {
		alive := x.judged.alive(k.Column)
		if stat.Quantile(stat.Known(alive), 1)-stat.Quantile(stat.Known(alive), 0) < account.MoreHandles {
			continue
		}
		l := *x.judged
		l.series[keyHandles] = alive
		g := l.Examine(alive, l.question(keyHandles, c))
		x.tested = append(x.tested, g.P)
		if !g.Growing() || g.Evidence <= x.grow[keyHandles].Evidence {
			continue
		}
		if !g.Accrues() || g.Rate < trend.Slowing*l.RateBefore(alive, &g) {
			continue
		}
		if k.Cached && (g.Amount() < leastCached || x.compiled(g.From) >= g.Amount()/2) {
			continue
		}
		x.kind, x.grow[keyHandles] = k, g
		x.judged.series[keyHandles] = alive
	}
	if x.grow[keyHandles].Growing() && x.left.has() {
		x.whole.series[keyHandles] = x.whole.alive(x.kind.Column)
		x.left = leftAtMarks(x.whole, x.run.Events, x.pid)
	}
}

// alive is how many handles of a kind are surely alive; nil when nobody counted
// them.
func (l *accounts) alive(column string) []float64 {
	if l.cols[column] == nil {
		return nil
	}
	// Each call that the capture missed may have been the end of a handle.
	return stat.Minus(l.cols[column], l.cols[record.ColCaptureLost])
}

// rise is by how much a column rose from a row on; NaN when it is unknown.
func (x *examined) rise(column string, from int) float64 {
	v := x.judged.cols[column]
	if v == nil {
		return math.NaN()
	}
	return stat.Rise(v[from:])
}

// total is by how much a running total rose over all judged rows.
func (x *examined) total(column string) float64 { return stat.Rise(x.judged.cols[column]) }
