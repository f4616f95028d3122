package verdict

import (
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// causes are the named causes, the surest first.
func (s *settled) causes() []Cause {
	c := &cause.Case{
		Class: s.class, Confidence: s.confidence, Size: s.size,
		ByTrend: s.restsOn == ByTrend || s.restsOn == ByObjects, ByLeftover: s.restsOn == ByLeftover,
		Kind: s.kind, Judged: s.judged.forCauses(), Whole: s.whole.forCauses(),
		Short: s.short, Unified: s.whole.unified(), Drained: s.drained(),
		IdleCount: s.left.idleCount,
		What:      s.what(),
		Meta:      s.run.Meta, BuffersLimit: math.NaN(), Exiting: math.Inf(1),
		Sites: s.siteRows(), Holders: s.holders(), Leftover: s.o.leftover(),
	}
	if s.restsOn == ByRefill {
		c.Refill = s.why
	}
	if s.restsOn == ByProcesses {
		c.Workers = s.why
	}
	if s.primary == keyHost {
		c.WhoseHost, c.HeapKeeps = s.hostWords(), s.heapKeeps()
	}
	if told := stat.Known(account.Column(s.run.Samples, record.ColBuffersLimit)); len(told) > 0 {
		c.BuffersLimit = told[len(told)-1]
	}
	c.Gains, c.Compilations = s.gains(), compilationsOf(s)
	if h := hostHolder(s, c.Holders); h != nil && c.Gains != nil { // what the answer names has a cause of its own
		c.Gains[h.Path+h.Graph] = math.Max(c.Gains[h.Path+h.Graph], hostGrewBy(s, c.Holders, h))
	}
	c.Holders = blameable(c.Holders, c.Gains, s.size)
	if came, each, ok := threadsAfter(s); ok && came > mostOfAPool {
		c.Threads, c.ThreadBytes = came, each
	}
	s.seriesOf(c)
	for _, e := range s.events.about(s.pid) {
		switch {
		case e.Receipt != nil:
			c.Receipts = append(c.Receipts, *e)
		case e.Kind == record.KindComposition:
			if d, ok := record.DetailOf[record.Composition](e); ok && len(d.Pools) > 0 {
				c.Pools = d.Pools
			}
		case e.Kind == record.KindPhase && e.Name == record.PhaseExiting:
			c.Exiting = math.Min(c.Exiting, e.TMs)
		}
	}
	return cause.Of(c)
}

// seriesOf fills in the series of a case.
func (s *settled) seriesOf(c *cause.Case) {
	for k, to := range [keys]*cause.Series{
		keyLive: &c.Live, keyCount: &c.Count, keyIdle: &c.Idle, keyUntracked: &c.Untracked, keyHost: &c.Host,
		keyHeap: &c.Heap, keyInFlight: &c.InFlight, keyRefs: &c.Refs, keyDevice: &c.Device,
		keyHandles: &c.Handles,
	} {
		left := math.NaN()
		if b, ok := s.left.of(key(k)); ok {
			left = b
		}
		*to = cause.Series{Growth: s.grow[k], Left: left}
		to.Judged, to.Whole = s.judged.series[k], s.whole.series[k]
		if key(k) == s.primary {
			c.Grows = to
		}
	}
}

// forCauses are the rows as the rules of causes see them.
func (l *accounts) forCauses() cause.Rows {
	return cause.Rows{Axes: l.Axes, Clock: l.clock, Columns: l.cols}
}

// drained reports whether the device is known to have had nothing to do when
// everything was released.
func (p *process) drained() bool {
	in, last := p.whole.series[keyInFlight], p.left.last
	return p.left.has() && in != nil && p.whole.released(keyInFlight, last, math.Inf(1), 0) <= 0
}

// HeldKind is the identifier of the cause that a holder's path names; empty for none. A
// copy whose paths are taken out keeps it in the holder's Kind.
func HeldKind(h record.Holder) string { return cause.HeldKind(&h) }
