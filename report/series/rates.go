package series

import (
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
)

// Rates are a growth per second and, in a run with steps, per step.
func (l *Accounts) Rates(g *trend.Growth) (sec, step *Interval) {
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
	if dt > 0 && !l.Untimed {
		sec = IntervalOf(g, toSec)
	}
	if ds >= 1 {
		step = IntervalOf(g, toStep)
	}
	return sec, step
}

// IntervalOf is a growth's rate with its interval, times scale; nil without bounds.
func IntervalOf(g *trend.Growth, scale float64) *Interval {
	return Rounded(g.Rate*scale, g.Low*scale, g.High*scale)
}

// Rounded is an interval with four digits after the point; nil without bounds.
func Rounded(value, low, high float64) *Interval {
	return Finite(Interval{Value: stat.Round(value), Low: stat.Round(low), High: stat.Round(high)})
}

// Finite is nil for an interval that has no finite bounds: it says nothing.
func Finite(i Interval) *Interval {
	if w := math.Abs(i.Value) + math.Abs(i.Low) + math.Abs(i.High); !(w <= math.MaxFloat64) {
		return nil
	}
	return &i
}

// Detectable is the smallest rate per second that would have been found four
// times in five; nil when that is not known.
func (l *Accounts) Detectable(g *trend.Growth) *float64 {
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

// Interval is an estimate with its 95 % interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}
