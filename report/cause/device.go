package cause

import (
	"math"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// apart is how many rows two counters may be read apart: on a busy machine the
// tracer reads the footprint some rows after the program read its own.
const apart = 12

// follow is by how much lead fell, in falls of at least a MiB between two rows,
// and how much of that tail fell about the same rows.
func follow(lead, tail []float64) (fell, followed float64) {
	last := -1
	for i, v := range lead {
		if v != v || i < len(tail) && tail[i] != tail[i] {
			continue
		}
		if last >= 0 && lead[last]-v >= mib {
			fell += lead[last] - v
			high := stat.Quantile(stat.Known(tail[max(0, last-apart):last+1]), 1)
			low := stat.Quantile(stat.Known(tail[i:min(i+apart, len(tail))]), 0)
			if d := high - low; d == d {
				followed += stat.Clamp(d, 0, lead[last]-v)
			}
		}
		last = i
	}
	return fell, followed
}

// follow is by how much lead fell at work, and how much of that tail fell with it.
func (c *Case) follow(lead, tail []float64) (fell, followed float64) {
	n := c.untilJudged()
	return follow(lead[:min(n, len(lead))], tail[:min(n, len(tail))])
}

// leastMoved is what must move from one account to another to be a signature.
const leastMoved = 16 * mib

// resident: the program and its pool gave buffers up, and the device keeps their
// memory.
func resident(c *Case) *Cause {
	gpu := c.Whole.Columns[record.ColGPU]
	if c.Class != account.DriverGrowth || c.Grows != &c.Untracked || gpu == nil {
		return nil
	}
	fell, followed := c.follow(stat.Plus(c.Live.Whole, c.Idle.Whole), gpu)
	if fell < leastMoved || followed > .2*fell || fell-followed < .5*c.Size {
		return nil
	}
	return &Cause{ID: Resident, Confidence: .8 * c.Confidence,
		Evidence: evidence("the program and its pool gave up %s; the device's counter fell by %s",
			units.Bytes(fell), units.Bytes(followed)),
		Next: "remove what is released from residency sets and commit them, and drain the " +
			"queue: either holds a buffer that nobody else references"}
}

// notEmptied: the device's counter falls with what is released, and the
// footprint, of which it is part, does not.
func notEmptied(c *Case) *Cause {
	const next = "set a buffer's purgeable state to Empty before its last release: its pages " +
		"then go at once"
	if !c.Unified {
		return nil
	}
	for _, e := range c.Receipts {
		r := e.Receipt
		if r.Action != record.ActionPurge || r.GPUBytes == nil || r.ReturnedBytes == nil {
			continue
		}
		if gpu, back := float64(*r.GPUBytes), float64(*r.ReturnedBytes); gpu >= leastMoved && back < .2*gpu {
			return &Cause{ID: NotEmptied, Confidence: .9, Next: next,
				Evidence: evidence("by a purge the device's counter fell by %s and the footprint by %s",
					units.Bytes(gpu), units.Bytes(math.Max(0, back)))}
		}
	}
	if c.Class == account.None || c.Grows != &c.Host {
		return nil
	}
	gpu := c.Whole.Columns[record.ColGPU]
	fell, followed := c.follow(gpu, stat.Plus(c.Host.Whole, gpu))
	if fell < leastMoved || followed > .2*fell || fell-followed < .5*c.Size {
		return nil
	}
	return &Cause{ID: NotEmptied, Confidence: .8 * c.Confidence, Next: next,
		Evidence: evidence("released buffers took %s off the device's counter and %s off the footprint",
			units.Bytes(fell), units.Bytes(followed))}
}

// How many buffers a device allows at once, where nobody recorded its limit: it
// is Metal's when iogpu.rsrc_limit is unset (MLX reads it so).
const (
	bufferCeiling = 499_000
	nearCeiling   = .8 // part of the limit
)

// ceiling: so many buffers exist that the next allocations fail with bytes free.
func ceiling(c *Case) *Cause {
	count := c.Whole.Columns[record.ColLiveCount]
	if count == nil || !c.maybeMetal() {
		return nil
	}
	limit := bufferCeiling * 1.
	if c.BuffersLimit == c.BuffersLimit {
		limit = c.BuffersLimit
	}
	most := stat.Quantile(stat.Known(stat.Plus(count, c.Whole.Columns[record.ColIdleCount])), 1)
	if !(most >= nearCeiling*limit) {
		return nil
	}
	return &Cause{ID: Ceiling, Confidence: .9,
		Evidence: evidence("%s buffers exist; the device's limit is about %s, and "+
			"allocations then fail with bytes free",
			units.Whole(most), units.Whole(limit)),
		Next: "make fewer and larger buffers, and parts of them by offset"}
}

// inDriver: growth that the driver alone knows of, when no other cause is named.
// What was asked of the driver is memory of the caller's, not the driver's own.
// Host memory counts when the heap is known to be still or the driver was seen
// to touch it; device memory when what was asked of the driver is known not to
// grow along: else a library may have asked for it behind the program's back.
func inDriver(c *Case) *Cause {
	if c.Class != account.DriverGrowth || !c.ByTrend || c.Grows == &c.Handles {
		return nil
	}
	column := record.ColPinnedBytes
	if c.Grows == &c.Untracked {
		column = record.ColDriverAllocBytes
	}
	asked := c.advance(column)
	if c.Grows == &c.Untracked && asked != asked || asked > .2*c.Size {
		return nil
	}
	e := []string{c.What + " grows by " + units.Bytes(c.Size)}
	if c.Grows == &c.Host {
		e[0] += c.WhoseHost
	}
	if asked == asked {
		e = append(e, "what was asked of the driver grew by "+units.Bytes(math.Max(0, asked)))
	}
	if still := c.stillCounters(); len(still) > 0 {
		e = append(e, "what does not grow with it: "+strings.Join(still, ", "))
	}
	return &Cause{ID: Driver, Confidence: .6 * c.Confidence, Evidence: e,
		Next: "run with another version of the driver, and without what is called most; report " +
			"it with the growth a call"}
}

// stillCounters are the recorded counters of what could explain a growth in the
// driver and does not.
func (c *Case) stillCounters() []string {
	var out []string
	for _, k := range append(account.HandleKinds(),
		account.HandleKind{Column: record.ColLiveCount, Name: "live handles"},
		account.HandleKind{Column: record.ColPipelines, Name: "pipelines"},
		account.HandleKind{Column: record.ColShapes, Name: "shapes"}) {
		if v := c.Judged.Columns[k.Column]; v != nil && !trend.Climbs(v, 1) {
			out = append(out, k.Name)
		}
	}
	return out
}
