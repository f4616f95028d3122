package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
)

// change is by how much the process changed in the judged window, from the end of
// the warm-up on: that of all accounts, where it leaves half of the window, else
// that of the account in question. Where that rose from where its trend begins by about what is fitted, no
// warm-up is in it, but a bend of a growth. A recording without times is told from its
// first row: each row is an event there, and the books know what the program had
// before it. False where too little was recorded.
func (s *settled) change() (account.Change, bool) {
	last := len(s.Judged.Clock) - 1
	if last < 0 {
		return account.Change{}, false
	}
	if s.Judged.Untimed {
		return s.Judged.Book.Between(0, last)
	}
	from := warmRow(&s.Examined, series.Keys)
	if from > last/2 {
		from = min(from, warmRow(&s.Examined, s.primary))
	}
	if s.primary != series.Keys && roseAsFitted(s) {
		from = min(from, s.Grow[s.primary].From)
	}
	return s.Judged.Book.Between(from, last)
}

// aboutFitted is the part by which what an account rose by may differ from what is fitted.
const aboutFitted = .15

// roseAsFitted reports whether the account in question grows, and rose over its window by about what is fitted.
func roseAsFitted(s *settled) bool {
	g, y := &s.Grow[s.primary], s.Judged.Series[s.primary]
	if !g.Growing() || g.From >= len(y) {
		return false
	}
	rose := y[len(y)-1] - y[g.From]
	return math.Abs(rose-g.Amount()) <= aboutFitted*g.Amount()
}

// warmRow is the row at which the warm-up of an account ends, or of all of
// them. The judged window must not be empty.
func warmRow(x *growth.Examined, of series.Key) int {
	l := x.Judged
	from := 0
	for _, k := range series.AccountKeys {
		if g := &x.Grow[k]; g.Known && l.Series[k] != nil && (of == series.Keys || k == of) {
			on := l.X(g.Axis)[g.From:]
			from = max(from, g.From+trend.FirstRow(on, on[0]+g.Settled))
		}
	}
	return min(from, len(l.Clock)-1)
}

// addChanges writes what was read beside what was fitted.
func (s *settled) addChanges(rows []AccountRow) {
	c, ok := s.change()
	if !ok {
		return
	}
	of := map[Account]float64{Live: c.Live, Idle: c.Idle, Untracked: c.Untracked, Host: c.Host}
	for i := range rows {
		rows[i].ChangeBytes = whole(of[rows[i].Account])
	}
}

// measured is what the changes of the accounts sum to; nil where nothing tells.
func (s *settled) measured() *Measured {
	c, ok := s.change()
	if !ok {
		return nil
	}
	sum, ok := s.Judged.Book.Measured(c)
	if !ok {
		return nil
	}
	m := &Measured{Bytes: int64(sum), FootprintBytes: whole(c.Footprint), DeviceBytes: whole(c.Device)}
	if !s.Judged.Untimed {
		from, to := millis(s.Judged.Clock[c.First]), millis(s.Judged.Clock[c.Last])
		m.FromMs, m.ToMs = &from, &to
	}
	return m
}

// millis is a time of the clock as it was recorded, in milliseconds: the clock has
// seconds, and a time that went there and back would miss its own sample.
func millis(seconds float64) float64 {
	const perMilli = 1e6 // no recording is finer than a nanosecond
	return math.Round(seconds*1000*perMilli) / perMilli
}

// whole is a size as a whole number; nil for an unknown one.
func whole(v float64) *int64 {
	if v != v {
		return nil
	}
	n := int64(math.Round(v))
	return &n
}

// bounds are the 95 % interval of a fitted growth; nil where it has none.
func bounds(g *trend.Growth) (low, high *int64) {
	l, h := g.Bounds()
	if series.Finite(series.Interval{Value: g.Rate, Low: l, High: h}) == nil {
		return nil, nil
	}
	return whole(l), whole(h)
}
