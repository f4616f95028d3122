package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
)

// verdict writes down what was found.
func (s *subject) verdict() *Verdict {
	v := &Verdict{
		Schema: 1, Verdict: s.class, Tier: s.tier(), Confidence: round(s.confidence), RestsOn: s.restsOn,
		Window:      s.windowRow(),
		Accounts:    s.accountRows(),
		Measured:    s.measured(),
		Causes:      s.causes(),
		Sites:       s.sites(),
		Holders:     s.holders(),
		Experiments: s.experiments(),
		Forecast:    s.forecast(),
		MoreMinutes: s.moreMinutes(),
		Missing:     s.missing(),
		Warnings:    append(append(warningTexts(s.run), s.led.warn...), s.warn...),
		Unified:     s.whole.book.Decided(),
		score:       s.raw,
	}
	v.DrivenBy, v.Background = s.drivenBy()
	switch {
	case s.restsOn == ByTrend && s.class != Undecided:
		v.scoreKind = "trend"
	case s.restsOn == "" && s.class == None:
		v.scoreKind = "none"
	}
	v.Claim = s.claim(v)
	v.Summary = sentence(s.lead(), v.Claim)
	return v
}

// missing is what was not recorded, or cannot be known from what was.
func (s *subject) missing() []string {
	out := s.led.missing
	if b := s.untouched(); b > 0 {
		out = append(out, fmt.Sprintf("host: %s or more of the device memory taken is not in the footprint (pages count from their first use on), so what else is in it is unknown", size(b)))
	}
	if _, ok := s.left.of(keyLive); s.left.has() && !ok && s.whole.series[keyLive] != nil {
		out = append(out, "leftover: the mark released has no sample of its own, so what was left over is unknown")
	}
	return out
}

// untouched is how much of the device memory that a program takes the footprint
// does not show: on unified memory pages count from their first use on, so what
// is left of the footprint beyond the device's bytes falls while these grow. What
// of the footprint is host memory is then unknown, and between nothing and all of
// it. 0 when the host account does not fall so.
func (s *subject) untouched() float64 {
	if !s.led.unified() || !(s.grow[keyLive].Growing() || s.grow[keyIdle].Growing() || s.grow[keyUntracked].Growing()) {
		return 0
	}
	if fell := s.shrinks(keyHost); fell > s.grow[keyHost].Delta {
		return fell
	}
	return 0
}

func (s *subject) windowRow() Window {
	l := s.led
	n := len(l.clock)
	w := Window{Samples: n}
	if n == 0 {
		return w
	}
	if l.Step != nil {
		w.Steps = int64(stat.Clamp(l.Step[n-1]-l.Step[0], 0, 1<<53))
	}
	if l.untimed {
		return w
	}
	w.FromMs, w.ToMs = l.clock[0]*1000, l.clock[n-1]*1000
	w.WarmupMs = (l.clock[s.settledRow(s.primary)] - l.clock[0]) * 1000
	return w
}

// settledRow is the row at which the warm-up of an account ends, or of all of
// them. The judged window must not be empty.
func (s *subject) settledRow(of key) int {
	l := s.led
	from := 0
	for _, k := range accountKeys {
		if g := &s.grow[k]; g.Known && l.series[k] != nil && (of == keys || k == of) {
			from = max(from, g.From+trend.FirstRow(l.X(g.Axis)[g.From:], l.X(g.Axis)[g.From]+g.Settled))
		}
	}
	return min(from, len(l.clock)-1)
}

func (s *subject) accountRows() []AccountRow {
	var rows []AccountRow
	for i, k := range accountKeys {
		count := countOf(k)
		bytes := k
		if k == keyUntracked && s.led.series[keyDevice] != nil {
			bytes = keyDevice // nobody tells whose they are
		}
		g := s.grow[bytes]
		if s.led.series[bytes] == nil && (count == keys || s.led.series[count] == nil) {
			continue
		}
		r := AccountRow{Account: accountNames[i], Shape: g.Shape}
		if k == keyHost && s.untouched() > 0 {
			rows = append(rows, AccountRow{Account: Host, Shape: trend.ShapeUndecided})
			continue
		}
		if g.Known {
			b := int64(math.Round(g.Amount()))
			r.Bytes = &b
			r.BytesLow, r.BytesHigh = bounds(&g)
			r.PerSecond, r.PerStep = s.rates(&g)
			if !s.led.untimed {
				r.DetectablePerSecond = s.detectable(&g)
			}
			if s.shared && bytes == k {
				sh := round(s.share[i].Value)
				r.Share = &sh
			}
		}
		if s.restsOn == ByMagnitude && k == s.primary {
			b := int64(s.size())
			r.Bytes, r.BytesLow, r.BytesHigh, r.Shape = &b, nil, nil, trend.Growing
		}
		if count != keys && s.grow[count].Known {
			c := int64(math.Round(s.grow[count].Amount()))
			r.Count = &c
			if s.grow[count].Growing() && (k == keyLive || s.primary == count) {
				r.Shape = trend.Growing
			}
		}
		r.LeftoverBytes = s.leftoverOf(k)
		if count != keys {
			r.LeftoverCount = s.leftoverOf(count)
		}
		rows = append(rows, r)
	}
	s.addChanges(rows)
	return rows
}

// countOf is the key that counts what an account's bytes are of; keys when
// nothing does.
func countOf(account key) key {
	switch account {
	case keyLive:
		return keyCount
	case keyUntracked:
		return keyHandles
	}
	return keys
}

// leftoverOf is a key's leftover as a whole number; nil when unknown.
func (s *subject) leftoverOf(k key) *int64 {
	b, ok := s.left.of(k)
	if !ok {
		return nil
	}
	n := int64(math.Round(b))
	return &n
}

// rates are a growth per second and, in a run with steps, per step.
func (s *subject) rates(g *trend.Growth) (sec, step *Interval) {
	l := s.led
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
	return finite(Interval{Value: round(g.Rate * scale), Low: round(g.Low * scale), High: round(g.High * scale)})
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
func (s *subject) detectable(g *trend.Growth) *float64 {
	l := s.led
	dt := l.T[len(l.T)-1] - l.T[g.From]
	if !(dt > 0) || g.Span <= 0 {
		return nil
	}
	d := round(math.Max(g.Delta, 3.42*g.SE*g.Span) / dt)
	if !(d <= math.MaxFloat64) {
		return nil
	}
	return &d
}
