package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
)

// rates are a growth per second and, in a run with steps, per step.
func (l *accounts) rates(g *trend.Growth) (sec, step *Interval) {
	n := len(l.T)
	dt := l.T[n-1] - l.T[g.From]
	ds := 0.0
	if l.Step != nil {
		ds = l.Step[n-1] - l.Step[g.From]
	}
	toSec, toStep := 1.0, 1.0
	if g.Axis == trend.ByStep {
		toSec = ds / dt
	} else if ds > 0 {
		toStep = dt / ds
	}
	if dt > 0 && !l.untimed {
		sec = intervalOf(g, toSec)
	}
	if ds >= 1 {
		step = intervalOf(g, toStep)
	}
	return sec, step
}

// intervalOf is a growth's rate with its interval, times scale; nil without bounds.
func intervalOf(g *trend.Growth, scale float64) *Interval {
	return rounded(g.Rate*scale, g.Low*scale, g.High*scale)
}

// rounded is an interval with four digits after the point; nil without bounds.
func rounded(value, low, high float64) *Interval {
	return finite(Interval{Value: stat.Round(value), Low: stat.Round(low), High: stat.Round(high)})
}

// finite is nil for an interval that has no finite bounds: it says nothing.
func finite(i Interval) *Interval {
	if w := math.Abs(i.Value) + math.Abs(i.Low) + math.Abs(i.High); !(w <= math.MaxFloat64) {
		return nil
	}
	return &i
}

// detectable is the smallest rate per second that would have been found four
// times in five; nil when that is not known.
func (l *accounts) detectable(g *trend.Growth) *float64 {
	dt := l.T[len(l.T)-1] - l.T[g.From]
	if !(dt > 0) || g.Span <= 0 {
		return nil
	}
	d := stat.Round(g.Seen() / dt)
	if !(d <= math.MaxFloat64) {
		return nil
	}
	return &d
}
