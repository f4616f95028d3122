package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// collected: collecting garbage gave memory back that references alone held.
func (s *subject) collected() *Cause {
	if s.class != AppLeak && s.class != HostGrowth {
		return nil // every runtime has some garbage at its end
	}
	if s.backlog() != nil {
		return nil // work that completed meanwhile gave it back
	}
	for _, e := range s.run.Events {
		r := e.Receipt
		if r == nil || r.Action != record.ActionCollect || !s.mine(&e) {
			continue
		}
		// What a collection frees goes back to the framework's pool first, so
		// the program's own word counts as well as the system's.
		back := returned(r)
		if r.ClaimedBytes != nil {
			back = math.Max(back, float64(*r.ClaimedBytes))
		}
		if back <= s.o.leftover() || back < cyclePart*s.size() {
			continue
		}
		conf := .9
		evidence := []string{fmt.Sprintf("collecting garbage freed %s", size(back))}
		if r.CollectorOff {
			evidence = append(evidence, "the program had turned its collector off")
		} else if e.TMs >= s.exiting() {
			if s.class == HostGrowth || s.wasReached(back) {
				continue // it became garbage with the end of what held it
			}
			conf, evidence[0] = .7, fmt.Sprintf("collecting garbage at the program's end freed %s", size(back))
		}
		return &Cause{ID: CauseCycle, Confidence: conf, Evidence: evidence,
			Next: "break the cycle, or collect on a schedule: nothing but the collector could free these objects"}
	}
	return nil
}

// exiting is when the program began to end, in milliseconds; +Inf when it did
// not say so.
func (s *subject) exiting() float64 {
	for _, e := range s.run.Events {
		if e.Kind == record.KindPhase && e.Name == record.PhaseExiting && s.mine(&e) {
			return e.TMs
		}
	}
	return math.Inf(1)
}

// wasReached reports whether names of the program's reached part of so many
// bytes while it ran: it was no garbage then. A look may be long past when the
// program ends, so a small part will do.
func (s *subject) wasReached(bytes float64) bool {
	const part = .05
	var gone float64
	for _, h := range s.holders() {
		if h.Gone {
			gone += float64(h.Bytes)
		}
	}
	return gone >= part*bytes
}

// cyclePart is the part of a growth that a collection must free to be its cause.
const cyclePart = .2

// perStep are the handles and references gained a step; NaN when unknown.
func (s *subject) perStep() (handles, refs float64) {
	l := s.led
	if l.Step == nil || !s.grow[keyCount].Growing() {
		return math.NaN(), math.NaN()
	}
	g := &s.grow[keyCount]
	steps := l.Step[len(l.Step)-1] - l.Step[g.From]
	if steps <= 0 {
		return math.NaN(), math.NaN()
	}
	refs = math.NaN()
	if r := &s.grow[keyRefs]; r.Known {
		refs = r.Amount() / steps
	}
	return g.Amount() / steps, refs
}

// graph: an output keeps the graph of every step, as its holder says; or every
// step leaves several handles with bytes, as a graph that is never cut does.
// Where references are counted, its nodes hold each other.
func (s *subject) graph() *Cause {
	const next = "detach what is kept from one step to the next (a loss summed up, a state) from its graph"
	if h := s.graphHolder(); h != nil {
		return &Cause{ID: CauseGraph, Confidence: .9 * s.confidence, Next: next,
			Evidence: []string{fmt.Sprintf("%s keeps %s", h.Kept(), size(float64(h.Bytes)))}}
	}
	if s.class != AppLeak || s.restsOn != ByTrend || !s.grow[keyLive].Growing() || s.backlog() != nil {
		return nil // work that waits holds what it reads, too
	}
	n, refs := s.perStep()
	each := s.grow[keyLive].Amount() / s.grow[keyCount].Amount()
	if !(n >= 1.8) || refs < 1.2*n || refs != refs && (each < 4*kib || s.wasReached(s.size())) {
		return nil
	}
	e := []string{fmt.Sprintf("each step leaves %.1f handles and %s behind", n, size(each*n))}
	conf := .7
	if refs == refs {
		e = append(e, fmt.Sprintf("they hold each other: %.1f references a handle", refs/n))
		conf = .85
	}
	return &Cause{ID: CauseGraph, Confidence: conf * s.confidence, Evidence: e, Next: next}
}

// graphHolder is the holder that keeps an autograd graph, where that is a part
// of a growth that matters; nil without one.
func (s *subject) graphHolder() *HolderRow {
	const part = .2
	if s.class != AppLeak && s.class != HostGrowth {
		return nil
	}
	for _, h := range s.holders() {
		if h.Graph != "" && float64(h.Bytes) >= part*s.size() {
			return &h
		}
	}
	return nil
}

// clone: references outlive the handles they were made for, and nothing that
// waits for the device holds them.
func (s *subject) clone() *Cause {
	if s.class != AppLeak || s.backlog() != nil && !s.drained() {
		return nil
	}
	if s.restsOn == ByLeftover {
		refs, ok := s.left.of(keyRefs)
		if !ok || refs <= 0 {
			return nil // who never counted references has no clone to show
		}
		b, _ := s.left.of(keyLive)
		e := []string{
			fmt.Sprintf("%s are still referenced after everything was released", size(b)),
			fmt.Sprintf("%.0f references are left", refs),
		}
		if n, ok := s.left.of(keyCount); ok && n > 0 {
			e[1] = fmt.Sprintf("%.0f references to %.0f handles are left", refs, n)
		}
		if t := s.topSite(); t != "" {
			e = append(e, "the largest survivor was made at "+t)
		}
		return &Cause{ID: CauseClone, Confidence: .85 * s.confidence, Evidence: e,
			Next: "look at who holds the survivors by site; drop the clone when its use ends"}
	}
	return nil
}

// clones: references grow while the handles they count do not.
func (s *subject) clones() *Cause {
	g := &s.grow[keyRefs]
	if !g.Growing() || s.grow[keyCount].Growing() || !s.grow[keyCount].Known || s.backlog() != nil {
		return nil
	}
	return &Cause{ID: CauseClone, Confidence: .8,
		Evidence: []string{fmt.Sprintf("references grow by %.0f while the handles they count do not", g.Amount())},
		Next:     "look at the clone audit: a clone is made and not dropped"}
}

// topSite is the site that holds most, empty when none is known.
func (s *subject) topSite() string {
	best := record.Site{}
	for _, x := range s.sites() {
		if x.Bytes > best.Bytes {
			best = x
		}
	}
	return best.Site
}

// handles: the number of live handles climbs, with few bytes each; or that of
// handles of the driver, with memory outside the program's.
func (s *subject) handles() *Cause {
	const next = "find what makes these handles and never releases them: parameters, events, streams, graphs"
	if s.restsOn != ByTrend || s.backlog() != nil || s.graph() != nil || s.compileCache() != nil {
		return nil // explained by what holds them
	}
	if s.class == DriverGrowth || s.class == HostGrowth {
		return s.driverHandles(next)
	}
	if s.class != AppLeak || !s.grow[keyCount].Growing() {
		return nil
	}
	n := s.grow[keyCount].Amount()
	each := math.Max(0, s.grow[keyLive].Amount()) / n
	if each > 16*kib {
		return nil
	}
	conf := .85
	e := []string{fmt.Sprintf("%.0f more handles are live, with %s each", n, size(each))}
	if a, f := s.total(record.ColAllocs), s.total(record.ColFrees); a > 0 && f == f && a > f {
		e = append(e, fmt.Sprintf("%.0f allocations, %.0f frees", a, f))
		conf = .9
	}
	return &Cause{ID: CauseHandles, Confidence: conf * s.confidence, Evidence: e, Next: next}
}

// Handles of the driver that explain a growth: so many more, each with between
// handleLow bytes (an event) and handleHigh (a graph, a stream's stack).
const (
	moreHandles = 16
	handleLow   = 64
	handleHigh  = 32 * mib
)

// driverHandles names the kind of handle that climbs while memory outside the
// program's does, the most numerous first.
func (s *subject) driverHandles(next string) *Cause {
	if s.primary == keyHandles {
		return s.handlesAlone(next)
	}
	var best *Cause
	most := 0.
	for _, k := range driverHandles {
		n := s.advance(k.column)
		if !(n > most) || !trend.Climbs(s.led.cols[k.column][s.grow[s.primary].From:], moreHandles) {
			continue
		}
		each := s.size() / n
		if each < handleLow || each > handleHigh {
			continue
		}
		most = n
		best = &Cause{ID: CauseHandles, Confidence: .85 * s.confidence, Next: next,
			Evidence: []string{fmt.Sprintf("%.0f more %s are alive; memory outside the program's grows by %s with each", n, k.name, size(each))}}
	}
	return best
}
