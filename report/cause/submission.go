package cause

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
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
	// besideTemporaries is the part of the growth that a heap may grow by as well:
	// a run of hours fills a few MiB of it with its own records.
	besideTemporaries = .1
	sameTemporaries   = "buffers are released at the same pace: a release outside of a pool is " +
		"not excluded"
)

// temporaries: host memory grows by a few KiB for each launch, or for each
// release of a buffer, while nothing the program holds does.
func temporaries(c *Case) *Cause {
	if !c.ByTrend || c.Grows != &c.Host || !c.maybeMetal() || c.programGrows() {
		return nil
	}
	launch := c.temporaryOf("launch", record.ColCommands)
	if launch == nil || !launch.typical() {
		if b := c.temporaryOf("command buffer", record.ColCommandBuffers); b != nil {
			launch = b
		}
	}
	release := c.temporaryOf("release", record.ColFrees)
	if launch == nil && release == nil {
		return nil
	}
	by, found := launch, &Cause{ID: Autorelease, Confidence: .75 * c.Confidence,
		Next: "put an autorelease pool around each iteration that submits work and run again: " +
			"the growth must stop"}
	if release.betterThan(launch) {
		by, found.ID = release, Releases
		found.Next = "put an autorelease pool around releases too, on completion and finaliser " +
			"threads as well: the growth must stop"
	}
	if c.followsOther(by) {
		return nil
	}
	found.Evidence = []string{
		fmt.Sprintf("host memory grows by %s a %s over %s of them",
			units.Bytes(by.each), by.name, units.Whole(by.n)),
		"live memory and command buffers in flight do not grow",
	}
	if by == launch && release != nil && !launch.betterThan(release) {
		found.Evidence = append(found.Evidence, sameTemporaries)
	}
	if c.Class == account.DriverGrowth && c.Heap.Judged != nil {
		found.Evidence = append(found.Evidence, c.heapStill())
		found.Confidence = .9 * c.Confidence
	}
	return found
}

// programGrows reports whether something that the program holds grows, in bytes by
// more than a small part of what the host grows by.
func (c *Case) programGrows() bool {
	for _, s := range [...]*Series{&c.Live, &c.Heap} {
		if s.Growing() && s.Amount() > besideTemporaries*c.Host.Amount() {
			return true
		}
	}
	return c.Count.Growing() || c.InFlight.Growing()
}

func (c *Case) heapStill() string {
	if c.Heap.Growing() {
		return "the program's heap grows by " + units.Bytes(c.Heap.Gained()) + " alone"
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
	case t.sse*trend.Alike < o.sse || o.sse*trend.Alike < t.sse:
		return t.sse < o.sse
	}
	return t.typical() && !o.typical()
}

// temporaryOf counts the growth in a running total; nil when that is unknown or
// its share is not the size of temporaries.
func (c *Case) temporaryOf(name, column string) *temporary {
	t := temporary{name: name, n: c.advance(column)}
	if !(t.n >= leastLaunches) {
		return nil
	}
	if t.each = c.Host.Amount() / t.n; t.each < leastTemporary || t.each > mostTemporary {
		return nil
	}
	t.sse = c.misfit(column)
	if math.IsInf(t.sse, 0) {
		return nil
	}
	return &t
}

// misfit is what a running total leaves of the host's growth unexplained,
// infinite where it is unknown or stands still.
func (c *Case) misfit(column string) float64 {
	rows := c.Judged.LowRows(c.Host.Judged, &c.Host.Growth, trend.TroughShare)
	y, x := trend.BlockMeans(c.Host.Judged, rows), trend.Progress(c.Judged.Columns[column], rows)
	if len(y) < trend.MinBlocks || x == nil {
		return math.Inf(1)
	}
	return stat.FitLine(x, y).SSE + trend.Unexplained*stat.Variation(y)
}

// others are running totals of what may grow by any bytes.
var others = [...]string{record.ColPipelines, record.ColShapes, record.ColCommandBuffers}

// followsOther reports whether the growth keeps the pace of one of others, and
// not that of what leaves t behind.
func (c *Case) followsOther(t *temporary) bool {
	for _, column := range others {
		if c.misfit(column)*trend.Alike < t.sse {
			return true
		}
	}
	return false
}

// mostCommands in one command buffer: five times what the investigated
// programs batch.
const mostCommands = 500

// mostWaiting is how many command buffers at most a program that waits for some of them has in flight:
// what Metal's queue takes.
const mostWaiting = 64

const nextOfBacklog = "wait for the command buffer N places back before committing the next"

// backlog: command buffers in flight grow, most are not done at the end, or commands pile up in few buffers.
func backlog(c *Case) *Cause {
	if g := &c.InFlight; g.Growing() {
		return &Cause{ID: Backlog, Confidence: .9,
			Evidence: evidence("command buffers in flight grow by %s over the run", units.Whole(g.Amount())),
			Next:     nextOfBacklog}
	}
	commands, buffers := c.total(record.ColCommands), c.total(record.ColCommandBuffers)
	ever := stat.Rise(c.Whole.Columns[record.ColCommandBuffers])
	if n := c.InFlight.Left; c.ByLeftover && n >= mostWaiting && n > ever/2 {
		return &Cause{ID: Backlog, Confidence: .85 * c.Confidence, Next: nextOfBacklog,
			Evidence: evidence("%s of %s command buffers are still in flight after everything was released",
				units.Whole(n), units.Whole(ever))}
	}
	if commands >= 2*mostCommands && commands/math.Max(buffers, 1) > mostCommands {
		return &Cause{ID: Backlog, Confidence: .85,
			Evidence: evidence("%s commands were put into %s command buffers: more than %d "+
				"wait in one",
				units.Whole(commands), units.Whole(buffers), mostCommands),
			Next: "flush after a fixed number of commands"}
	}
	return nil
}

// leastOpen is how many command buffers must be open; Metal's queue stops at 64.
const leastOpen = 16

// uncommitted: command buffers that were made and never committed pile up.
func uncommitted(c *Case) *Cause {
	open, flying := c.Judged.Columns[record.ColCommandBuffersOpen], c.InFlight.Judged
	if open == nil || flying == nil {
		return nil
	}
	waiting := stat.Minus(open, flying)
	if !trend.Climbs(waiting, leastOpen) {
		return nil
	}
	k := stat.Known(waiting)
	return &Cause{ID: Uncommitted, Confidence: .9,
		Evidence: evidence("%s command buffers were made and neither committed nor dropped, "+
			"%s at the start",
			units.Whole(k[len(k)-1]), units.Whole(k[0])),
		Next: "commit or drop each command buffer: at the queue's limit the next one waits " +
			"for ever, and each keeps what it binds"}
}
