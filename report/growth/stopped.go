package growth

import (
	"math"

	"github.com/gpumem/gpumem/report/looks"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// leastStopped is for how many seconds at least nothing more must have come: a server
// reloads what it serves, and answers a burst, every few seconds.
const leastStopped = 6.

// settleStopped decides on accounts whose trend is open because they filled up inside a
// short window: where nothing more came for far longer than it ever paused while the
// program worked on, it has stopped.
func (x *Examined) settleStopped() {
	if x.Judged.Untimed {
		return
	}
	for _, k := range series.TestedKeys {
		g := &x.Grow[k]
		if !g.Known || g.Shape != trend.ShapeUndecided || x.Judged.Series[k] == nil {
			continue
		}
		if most, ok := hasStopped(x.Judged, g, x.firstCompiled()); ok {
			g.Settle(trend.Plateau, most)
		}
	}
}

// hasStopped reports whether a series stopped to rise while the program went on working,
// and by how much it would have risen in the whole window at the pace that could have gone
// unseen since. It began its work after the time compiled.
func hasStopped(l *series.Accounts, g *trend.Growth, compiled float64) (most float64, ok bool) {
	if len(l.Clock) == 0 {
		return 0, false
	}
	since, ok := g.Stopped(l.X(g.Axis)[trend.FirstRow(l.Clock, compiled)])
	if !ok {
		return 0, false
	}
	from := trend.FirstRow(l.X(g.Axis), since)
	end := l.Clock[len(l.Clock)-1]
	still := end - l.Clock[from]
	if still < leastStopped {
		return 0, false
	}
	// One that waits, for memory or for its end, takes nothing either.
	if last, _ := l.LastWork(); last > 0 && end-l.Clock[min(last, len(l.Clock)-1)] >= still/2 {
		return 0, false
	}
	return g.Delta * (end - l.Clock[g.From]) / still, true
}

// compilersGap is how many seconds may pass between two compilers of one start.
const compilersGap = 2.

// firstCompiled is when the last compiler of the first stretch of them began: a program waits for the code
// that its device needs, and takes nothing meanwhile. Negative infinity where there was none.
func (x *Examined) firstCompiled() float64 {
	last := math.Inf(-1)
	for _, t := range looks.Compilers(&x.Process) {
		if !math.IsInf(last, -1) && t > last+compilersGap {
			break
		}
		last = t
	}
	return last
}
