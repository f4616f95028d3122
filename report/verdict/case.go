package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/evidence"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// grewToo reports whether the trend shows the growth that a verdict of what was left over rests on.
func grewToo(s *settled) bool {
	return s.restsOn == ByLeftover && s.primary == series.Live &&
		(s.Grow[series.Live].Growing() || s.Grow[series.Count].Growing())
}

// causes are the named causes, the surest first.
func (s *settled) causes() []Cause {
	c := &cause.Case{
		Class: s.class, Confidence: s.confidence, Size: s.size,
		ByTrend: s.restsOn == ByTrend || s.restsOn == ByObjects || grewToo(s), ByLeftover: s.restsOn == ByLeftover,
		Kind: s.Kind, Judged: forCauses(s.Judged), Whole: forCauses(s.Whole),
		Short: s.Short, Unified: s.Whole.Unified(), Drained: drained(&s.Examined.Process),
		IdleCount: s.Left.IdleCount,
		What:      s.what(),
		Meta:      s.Run.Meta, BuffersLimit: math.NaN(), Exiting: math.Inf(1),
		Sites: withGivenBack(s, s.siteRows()), Holders: heldMore(s), Leftover: s.Least,
	}
	_, c.DriverSites = s.Sites()
	if s.objects != nil && s.objects.Beside != "" { // what fills up beside it has no cause
		c.Size = min(c.Size, s.objects.Size)
	}
	if s.restsOn == ByRefill {
		c.Refill = s.why
	}
	if s.restsOn == ByProcesses {
		c.Workers = s.why
	}
	if touch := s.Touch; touch != nil && len(touch.Owners) > 0 && touch.Owners[0].Share >= mostTouched {
		c.TouchedBy = touch.Owners[0].Library
	}
	if s.primary == series.Host {
		c.WhoseHost, c.HeapKeeps = s.hostWords(), evidence.HeapKeeps(&s.Examined)
	}
	if told := stat.Known(account.Column(s.Run.Samples, record.ColBuffersLimit)); len(told) > 0 {
		c.BuffersLimit = told[len(told)-1]
	}
	c.Gains, c.Compilations, c.Recording = s.gains(), compilationsOf(s), recordingOf(s)
	if h := hostHolder(s, c.Holders); h != nil && c.Gains != nil { // what the answer names has a cause of its own
		c.Gains[h.Path+h.Graph] = math.Max(c.Gains[h.Path+h.Graph], hostGrewBy(s, c.Holders, h))
	}
	c.MostOf, c.Holders = inNumber(s, c.Holders), blameable(c.Holders, c.Gains, c.Size)
	if came, each, ok := threadsAfter(s); ok && came > mostOfAPool {
		c.Threads, c.ThreadBytes = came, each
	}
	s.seriesOf(c)
	for _, e := range s.Events.About(s.PID) {
		switch {
		case e.Receipt != nil:
			c.Receipts = append(c.Receipts, *e)
		case e.Kind == record.KindComposition, e.Kind == record.KindGenerations:
			if told := record.PoolsOf(e); len(told) > 0 {
				c.Pools = told
			}
		case e.Kind == record.KindPhase && e.Name == record.PhaseExiting:
			c.Exiting = math.Min(c.Exiting, e.TMs)
		}
	}
	return cause.Of(c)
}

// seriesOf fills in the series of a case.
func (s *settled) seriesOf(c *cause.Case) {
	for k, to := range [series.Keys]*cause.Series{
		series.Live: &c.Live, series.Count: &c.Count, series.Idle: &c.Idle, series.Untracked: &c.Untracked,
		series.Host: &c.Host,
		series.Heap: &c.Heap, series.InFlight: &c.InFlight, series.Refs: &c.Refs, series.Device: &c.Device,
		series.Handles: &c.Handles,
	} {
		left := math.NaN()
		if b, ok := s.Left.Of(series.Key(k)); ok {
			left = b
		}
		*to = cause.Series{Growth: s.Grow[k], Left: left}
		to.Judged, to.Whole = s.Judged.Series[k], s.Whole.Series[k]
		if series.Key(k) == s.primary {
			c.Grows = to
		}
	}
}

// forCauses are the rows as the rules of causes see them.
func forCauses(l *series.Accounts) cause.Rows {
	return cause.Rows{Axes: l.Axes, Clock: l.Clock, Columns: l.Cols}
}

// drained reports whether the device is known to have had nothing to do when
// everything was released.
func drained(p *series.Process) bool {
	in, last := p.Whole.Series[series.InFlight], p.Left.Last
	return p.Left.Has() && in != nil && p.Whole.Released(series.InFlight, last, math.Inf(1), 0) <= 0
}

// HeldKind is the identifier of the cause that a holder's path names; empty for none. A
// copy whose paths are taken out keeps it in the holder's Kind.
func HeldKind(h record.Holder) string { return cause.HeldKind(&h) }
