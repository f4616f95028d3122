package verdict

import (
	"fmt"
	"math"
	"sort"

	"github.com/gpumem/gpumem/tracer/record"
)

// Identifiers of the catalogue of causes.
const (
	CauseAutorelease = "missing-autorelease-pool"
	CauseBacklog     = "command-buffer-backlog"
	CausePolicy      = "pool-never-trims"
	CauseMisses      = "size-class-misses"
	CauseCompile     = "per-shape-compile-cache"
	CauseHandles     = "handle-leak"
	CauseCycle       = "reference-cycle"
	CauseGraph       = "uncut-autograd-graph"
	CauseClone       = "retained-clone"
	CausePurge       = "purge-without-effect"
	CauseDead        = "dead-process-holds-memory"
	CauseTooling     = "tooling"
)

// causeRules are the catalogue: each looks for its own signature and names
// its cause only with the evidence for it. The order is that of the output
// for equal confidence.
var causeRules = [...]func(*subject) *Cause{
	(*subject).autorelease, (*subject).backlog, (*subject).policy, (*subject).misses,
	(*subject).compileCache, (*subject).collected, (*subject).graph, (*subject).clone,
	(*subject).handles, (*subject).purgeInVain, (*subject).deadHolder, (*subject).tooling,
}

// causes are the named causes, the surest first.
func (s *subject) causes() []Cause {
	var out []Cause
	for _, rule := range causeRules {
		if c := rule(s); c != nil {
			c.Confidence = round(c.Confidence)
			out = append(out, *c)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Confidence > out[j].Confidence })
	return out
}

// advance is by how much a running total rose over the rows judged for the
// primary account; NaN when it is unknown.
func (s *subject) advance(column string) float64 {
	from := 0
	if s.primary < keys {
		from = s.grow[s.primary].from
	}
	v := s.led.cols[column]
	if v == nil {
		return math.NaN()
	}
	if k := known(v[from:]); len(k) > 1 {
		return k[len(k)-1] - k[0]
	}
	return math.NaN()
}

// Bytes of autoreleased temporaries a launch leaves behind: 1.8 to 3 KB were
// measured on Metal; the range allows for short and long launches.
const (
	leastTemporary = 256
	mostTemporary  = 8 * kib
	leastLaunches  = 50
)

// autorelease: host memory grows with the launches, by a few KiB each, while
// nothing the program holds does.
func (s *subject) autorelease() *Cause {
	if s.restsOn != ByTrend || s.primary != keyHost {
		return nil
	}
	if s.grow[keyLive].growing() || s.grow[keyCount].growing() || s.grow[keyInFlight].growing() || s.grow[keyHeap].growing() {
		return nil
	}
	for _, c := range [...]struct{ column, name string }{{record.ColCommands, "launch"}, {record.ColCommandBuffers, "command buffer"}} {
		n := s.advance(c.column)
		if !(n >= leastLaunches) {
			continue
		}
		each := s.grow[keyHost].bytes() / n
		if each < leastTemporary || each > mostTemporary {
			continue
		}
		e := []string{
			fmt.Sprintf("host memory grows by %s a %s over %.0f of them", size(each), c.name, n),
			"live memory and command buffers in flight do not grow",
		}
		conf := .75
		if s.led.series[keyHeap] != nil {
			e = append(e, "the program's heap stays as it is")
			conf = .9
		}
		return &Cause{ID: CauseAutorelease, Confidence: conf * s.confidence, Evidence: e,
			Next: "put an autorelease pool around each iteration that submits work and run again: the growth must stop"}
	}
	return nil
}

// backlog: command buffers in flight grow, or commands pile up in buffers
// that are not committed.
func (s *subject) backlog() *Cause {
	if g := &s.grow[keyInFlight]; g.growing() {
		return &Cause{ID: CauseBacklog, Confidence: .9,
			Evidence: []string{fmt.Sprintf("command buffers in flight grow by %.0f over the run", g.bytes())},
			Next:     "wait for the command buffer N places back before committing the next"}
	}
	commands, buffers := s.total(record.ColCommands), s.total(record.ColCommandBuffers)
	if commands >= 2*mostCommands && commands/math.Max(buffers, 1) > mostCommands {
		return &Cause{ID: CauseBacklog, Confidence: .85,
			Evidence: []string{fmt.Sprintf("%.0f commands were put into %.0f command buffers: more than %d wait in one", commands, buffers, mostCommands)},
			Next:     "flush after a fixed number of commands"}
	}
	return nil
}

// mostCommands in one command buffer: five times what the investigated
// programs batch.
const mostCommands = 500

// total is by how much a running total rose over all judged rows.
func (s *subject) total(column string) float64 {
	if k := known(s.led.cols[column]); len(k) > 1 {
		return k[len(k)-1] - k[0]
	}
	return math.NaN()
}

// policy: the pool keeps what nothing references.
func (s *subject) policy() *Cause {
	if s.class != PoolGrowth {
		return nil
	}
	next := "limit the pool by bytes, or trim it when idle; a purge must return the idle bytes"
	if s.restsOn == ByLeftover {
		idle, _ := s.left.of(keyIdle)
		e := []string{fmt.Sprintf("%s stay idle in the pool after everything was released", size(idle))}
		if n, ok := s.count(record.ColIdleCount); ok {
			e[0] = fmt.Sprintf("%s in %.0f buffers stay idle in the pool after everything was released", size(idle), n)
		}
		if live, ok := s.left.of(keyLive); ok {
			e = append(e, fmt.Sprintf("live memory is %s above the baseline: no reference holds them", size(math.Max(0, live))))
		}
		e = append(e, s.receipts("purge")...)
		return &Cause{ID: CausePolicy, Confidence: .95 * s.confidence, Evidence: e, Next: next}
	}
	if s.missRate() > .5 {
		return nil // the pool is not used again: a matter of size classes
	}
	return &Cause{ID: CausePolicy, Confidence: .7 * s.confidence, Next: next,
		Evidence: append([]string{fmt.Sprintf("idle memory grows by %s while live memory does not", size(s.grow[keyIdle].bytes()))}, s.receipts("purge")...)}
}

// count is a column's value at the last mark released.
func (s *subject) count(column string) (float64, bool) {
	v := s.led.cols[column]
	if k := known(v); len(k) > 0 {
		return k[len(k)-1], true
	}
	return 0, false
}

// missRate is the part of the pool's requests that missed; NaN when unknown
// or too few.
func (s *subject) missRate() float64 {
	m, h := s.advance(record.ColPoolMisses), s.advance(record.ColPoolHits)
	if !(m+h >= leastLaunches) {
		return math.NaN()
	}
	return m / (m + h)
}

// misses: the pool is asked for ever new sizes and finds nothing it keeps.
func (s *subject) misses() *Cause {
	if s.class != PoolGrowth || s.restsOn != ByTrend {
		return nil
	}
	r := s.missRate()
	if !(r > .5) {
		return nil
	}
	e := []string{fmt.Sprintf("%.0f %% of the pool's requests find nothing that fits", r*100)}
	conf := .8
	if n := s.advance(record.ColShapes); n >= 10 {
		e = append(e, fmt.Sprintf("%.0f new shapes appeared", n))
		conf = .9
	}
	return &Cause{ID: CauseMisses, Confidence: conf * s.confidence, Evidence: e,
		Next: "round request sizes to classes, or pad shapes to a few"}
}

// compileCache: memory outside the pool grows with new shapes or pipelines.
func (s *subject) compileCache() *Cause {
	if s.restsOn != ByTrend || s.class != DriverGrowth && s.class != HostGrowth {
		return nil
	}
	for _, c := range [...]struct{ column, name string }{{record.ColPipelines, "compiled pipeline"}, {record.ColShapes, "new shape"}} {
		n := s.advance(c.column)
		if !(n >= 10) {
			continue
		}
		each := s.size() / n
		if each < 4*kib {
			continue
		}
		return &Cause{ID: CauseCompile, Confidence: .85 * s.confidence,
			Evidence: []string{fmt.Sprintf("memory outside the pool grows by %s a %s over %.0f of them", size(each), c.name, n)},
			Next:     "bucket the shapes or bound the cache; with one fixed shape the growth must stop"}
	}
	return nil
}

// collected: collecting garbage gave memory back that references alone held.
func (s *subject) collected() *Cause {
	if s.class != AppLeak && s.class != HostGrowth {
		return nil // every runtime has some garbage at its end
	}
	for _, e := range s.run.Events {
		r := e.Receipt
		if r == nil || r.Action != "collect" {
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
		return &Cause{ID: CauseCycle, Confidence: .9,
			Evidence: []string{fmt.Sprintf("collecting garbage freed %s", size(back))},
			Next:     "break the cycle, or collect on a schedule: nothing but the collector could free these objects"}
	}
	return nil
}

// cyclePart is the part of a growth that a collection must free to be its cause.
const cyclePart = .2

// perStep are the handles and references gained a step; NaN when unknown.
func (s *subject) perStep() (handles, refs float64) {
	l := s.led
	if l.step == nil || !s.grow[keyCount].growing() {
		return math.NaN(), math.NaN()
	}
	g := &s.grow[keyCount]
	steps := l.step[len(l.step)-1] - l.step[g.from]
	if steps <= 0 {
		return math.NaN(), math.NaN()
	}
	refs = math.NaN()
	if r := &s.grow[keyRefs]; r.known {
		refs = r.bytes() / steps
	}
	return g.bytes() / steps, refs
}

// graph: every step leaves several handles with bytes, as a graph that is
// never cut does; where references are counted, its nodes hold each other.
func (s *subject) graph() *Cause {
	if s.class != AppLeak || s.restsOn != ByTrend || !s.grow[keyLive].growing() {
		return nil
	}
	n, refs := s.perStep()
	each := s.grow[keyLive].bytes() / s.grow[keyCount].bytes()
	if !(n >= 1.8) || refs < 1.2*n || refs != refs && each < 4*kib {
		return nil
	}
	e := []string{fmt.Sprintf("each step leaves %.1f handles and %s behind", n, size(each*n))}
	conf := .7
	if refs == refs {
		e = append(e, fmt.Sprintf("they hold each other: %.1f references a handle", refs/n))
		conf = .85
	}
	return &Cause{ID: CauseGraph, Confidence: conf * s.confidence, Evidence: e,
		Next: "detach what is kept from one step to the next (a loss summed up, a state) from its graph"}
}

// clone: references outlive the handles they were made for.
func (s *subject) clone() *Cause {
	if s.restsOn == ByLeftover && s.class == AppLeak {
		b, _ := s.left.of(keyLive)
		e := []string{fmt.Sprintf("%s are still referenced after everything was released", size(b))}
		if n, ok := s.left.of(keyCount); ok && n > 0 {
			e = append(e, fmt.Sprintf("%.0f handles are still live", n))
		}
		if r, ok := s.left.of(keyRefs); ok && r > 0 {
			e = append(e, fmt.Sprintf("%.0f references are left", r))
		}
		if t := s.topSite(); t != "" {
			e = append(e, "the largest survivor was made at "+t)
		}
		return &Cause{ID: CauseClone, Confidence: .85 * s.confidence, Evidence: e,
			Next: "look at who holds the survivors by site; drop the clone when its use ends"}
	}
	if g := &s.grow[keyRefs]; g.growing() && !s.grow[keyCount].growing() && s.grow[keyCount].known {
		return &Cause{ID: CauseClone, Confidence: .8,
			Evidence: []string{fmt.Sprintf("references grow by %.0f while the handles they count do not", g.bytes())},
			Next:     "look at the clone audit: a clone is made and not dropped"}
	}
	return nil
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

// handles: the number of live handles climbs, with few bytes each.
func (s *subject) handles() *Cause {
	if s.class != AppLeak || !s.grow[keyCount].growing() || s.restsOn != ByTrend {
		return nil
	}
	n := s.grow[keyCount].bytes()
	each := math.Max(0, s.grow[keyLive].bytes()) / n
	if each > 16*kib || s.graph() != nil || s.backlog() != nil {
		return nil // explained by what holds them
	}
	conf := .85
	e := []string{fmt.Sprintf("%.0f more handles are live, with %s each", n, size(each))}
	if a, f := s.total(record.ColAllocs), s.total(record.ColFrees); a > 0 && f == f && a > f {
		e = append(e, fmt.Sprintf("%.0f allocations, %.0f frees", a, f))
		conf = .9
	}
	return &Cause{ID: CauseHandles, Confidence: conf * s.confidence, Evidence: e,
		Next: "find what makes these handles and never releases them: parameters, events, streams, graphs"}
}
