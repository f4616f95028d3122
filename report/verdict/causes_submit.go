package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Bytes of autoreleased temporaries a launch or a release leaves behind: 1.8 to
// 3 KB a launch were measured on Metal. What lies in the range may be one, what
// lies in the typical one more likely is.
const (
	leastTemporary = 256
	mostTemporary  = 8 * kib
	typicallyLeast = 512
	typicallyMost  = 4 * kib
	leastLaunches  = 50
	// besideTemporaries is the part of the growth that a heap may grow by as well:
	// a run of hours fills a few MiB of it with its own records.
	besideTemporaries = .1
	sameTemporaries   = "buffers are released at the same pace: a release outside of a pool is not excluded"
)

// maybeMetal reports whether the device may be Metal's, which alone has
// autorelease pools and a ceiling of buffers: it says so, or nobody said.
func (s *subject) maybeMetal() bool {
	m := s.run.Meta
	switch d := strings.ToLower(m.Driver); d {
	case "":
		return m.OS == "" || strings.HasPrefix(m.OS, "darwin")
	case "apple", "soft", "metal", "mps":
		return true
	}
	return false
}

// temporaries: host memory grows by a few KiB for each launch, or for each
// release of a buffer, while nothing the program holds does.
func (s *subject) temporaries() *Cause {
	if s.restsOn != ByTrend || s.primary != keyHost || !s.maybeMetal() || s.notEmptied() != nil {
		return nil
	}
	for _, k := range [...]key{keyLive, keyCount, keyInFlight, keyHeap} {
		g := &s.grow[k]
		inBytes := k == keyLive || k == keyHeap
		if g.Growing() && (!inBytes || g.Amount() > besideTemporaries*s.grow[keyHost].Amount()) {
			return nil
		}
	}
	launch := s.temporaryOf("launch", record.ColCommands)
	if launch == nil || !launch.typical() {
		if b := s.temporaryOf("command buffer", record.ColCommandBuffers); b != nil {
			launch = b
		}
	}
	release := s.temporaryOf("release", record.ColFrees)
	c := Cause{Confidence: .75 * s.confidence}
	by := launch
	switch {
	case launch == nil && release == nil:
		return nil
	case release.betterThan(launch):
		by, c.ID = release, CauseReleases
		c.Next = "put an autorelease pool around releases too, on completion and finaliser threads as well: the growth must stop"
	default:
		c.ID = CauseAutorelease
		c.Next = "put an autorelease pool around each iteration that submits work and run again: the growth must stop"
	}
	if s.followsOther(by) {
		return nil
	}
	c.Evidence = []string{
		fmt.Sprintf("host memory grows by %s %s over %.0f of them", size(by.each), article(by.name), by.n),
		"live memory and command buffers in flight do not grow",
	}
	if by == launch && release != nil && !launch.betterThan(release) {
		c.Evidence = append(c.Evidence, sameTemporaries)
	}
	if s.class == DriverGrowth && s.led.series[keyHeap] != nil {
		c.Evidence = append(c.Evidence, heapStill(s))
		c.Confidence = .9 * s.confidence
	}
	return &c
}

func heapStill(s *subject) string {
	if h := &s.grow[keyHeap]; h.Growing() {
		return "the program's heap grows by " + size(h.Amount()) + " alone"
	}
	return "the program's heap stays as it is"
}

// temporary is the growth of host memory counted in something that leaves one
// behind.
type temporary struct {
	name    string
	n, each float64
	sse     float64 // what it leaves of the growth unexplained
}

func (t *temporary) typical() bool { return t.each >= typicallyLeast && t.each <= typicallyMost }

// betterThan reports whether t explains a growth better than o, or as well with
// bytes that are more typical.
func (t *temporary) betterThan(o *temporary) bool {
	switch {
	case t == nil || o == nil:
		return t != nil
	case t.sse*alike < o.sse || o.sse*alike < t.sse:
		return t.sse < o.sse
	}
	return t.typical() && !o.typical()
}

// temporaryOf counts the growth in a running total; nil when that is unknown or
// its share is not the size of temporaries.
func (s *subject) temporaryOf(name, column string) *temporary {
	t := temporary{name: name, n: s.advance(column)}
	if !(t.n >= leastLaunches) {
		return nil
	}
	if t.each = s.grow[keyHost].Amount() / t.n; t.each < leastTemporary || t.each > mostTemporary {
		return nil
	}
	t.sse = s.misfit(column)
	if math.IsInf(t.sse, 0) {
		return nil
	}
	return &t
}

// misfit is what a running total leaves of the host's growth unexplained,
// infinite where it is unknown or stands still.
func (s *subject) misfit(column string) float64 {
	rows := s.sampled(&s.grow[keyHost])
	y, x := trend.BlockMeans(s.led.series[keyHost], rows), s.unitBlocks(column, rows)
	if len(y) < trend.MinBlocks || x == nil {
		return math.Inf(1)
	}
	return stat.FitLine(x, y).SSE + unexplained*stat.Variation(y)
}

// others are running totals of what may grow by any bytes.
var others = [...]string{record.ColPipelines, record.ColShapes, record.ColCommandBuffers}

// followsOther reports whether the growth keeps the pace of one of others, and
// not that of what leaves t behind.
func (s *subject) followsOther(t *temporary) bool {
	for _, column := range others {
		if s.misfit(column)*alike < t.sse {
			return true
		}
	}
	return false
}

// mostCommands in one command buffer: five times what the investigated
// programs batch.
const mostCommands = 500

// backlog: command buffers in flight grow, or commands pile up in few buffers.
func (s *subject) backlog() *Cause {
	if g := &s.grow[keyInFlight]; g.Growing() {
		return &Cause{ID: CauseBacklog, Confidence: .9,
			Evidence: []string{fmt.Sprintf("command buffers in flight grow by %.0f over the run", g.Amount())},
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

// drained reports whether the device is known to have had nothing to do when
// everything was released.
func (s *subject) drained() bool {
	return s.left.has() && s.whole.series[keyInFlight] != nil && s.whole.released(keyInFlight, s.left.last, math.Inf(1), 0) <= 0
}

// leastOpen is how many command buffers must be open; Metal's queue stops at 64.
const leastOpen = 16

// uncommitted: command buffers that were made and never committed pile up.
func (s *subject) uncommitted() *Cause {
	open, flying := s.led.cols[record.ColCommandBuffersOpen], s.led.series[keyInFlight]
	if open == nil || flying == nil {
		return nil
	}
	waiting := stat.Minus(open, flying)
	if !trend.Climbs(waiting, leastOpen) {
		return nil
	}
	k := stat.Known(waiting)
	return &Cause{ID: CauseUncommitted, Confidence: .9,
		Evidence: []string{fmt.Sprintf("%.0f command buffers were made and neither committed nor dropped, %.0f at the start", k[len(k)-1], k[0])},
		Next:     "commit or drop each command buffer: at the queue's limit the next one waits for ever, and each keeps what it binds"}
}
