package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/trend"
)

// change is by how much the process changed in the judged window, from the end of
// the warm-up on: that of all accounts, where it leaves half of the window, else
// that of the account in question. False where too little was recorded.
func (s *subject) change() (account.Change, bool) {
	last := len(s.led.clock) - 1
	if last < 0 {
		return account.Change{}, false
	}
	from := s.settledRow(keys)
	if from > last/2 {
		from = min(from, s.settledRow(s.primary))
	}
	return s.led.book.Between(from, last)
}

// addChanges writes what was read beside what was fitted.
func (s *subject) addChanges(rows []AccountRow) {
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
func (s *subject) measured() *Measured {
	c, ok := s.change()
	if !ok {
		return nil
	}
	sum, ok := s.led.book.Measured(c)
	if !ok {
		return nil
	}
	m := &Measured{Bytes: int64(sum), FootprintBytes: whole(c.Footprint), DeviceBytes: whole(c.Device)}
	if !s.led.untimed {
		from, to := millis(s.led.clock[c.First]), millis(s.led.clock[c.Last])
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
	if finite(Interval{Value: g.Rate, Low: g.Low * g.Span, High: g.High * g.Span}) == nil {
		return nil, nil
	}
	return whole(g.Low * g.Span), whole(g.High * g.Span)
}
