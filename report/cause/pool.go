package cause

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// policy: the pool keeps what nothing references.
func policy(c *Case) *Cause {
	if c.Class != account.PoolGrowth {
		return nil
	}
	next := "limit the pool by bytes, or trim it when idle; a purge must return the idle bytes"
	if c.ByLeftover {
		idle := c.Idle.Left
		e := evidence("%s stay idle in the pool after everything was released", units.Bytes(idle))
		if n := c.IdleCount; n > 0 {
			e[0] = fmt.Sprintf("%s in %s buffers stay idle in the pool after everything was released",
				units.Bytes(idle), units.Whole(n))
		}
		if live := c.Live.Left; live == live {
			e = append(e, fmt.Sprintf("live memory is %s above the baseline: no reference holds them",
				units.Bytes(math.Max(0, live))))
		}
		e = append(e, c.outcomes(record.ActionPurge)...)
		return &Cause{ID: Policy, Confidence: .95 * c.Confidence, Evidence: e, Next: next}
	}
	if c.Refill != "" {
		return &Cause{ID: Policy, Confidence: .9 * c.Confidence, Evidence: []string{c.Refill}, Next: next}
	}
	if c.missRate() > .5 {
		return nil // the pool is not used again: a matter of size classes
	}
	e := evidence("idle memory grows by %s while live memory does not", units.Bytes(c.Idle.Gained()))
	return &Cause{ID: Policy, Confidence: .7 * c.Confidence, Next: next,
		Evidence: append(e, c.outcomes(record.ActionPurge)...)}
}

// outcomes tell what an action's experiments gave back, as evidence.
func (c *Case) outcomes(action string) []string {
	var out []string
	for _, e := range c.Receipts {
		r := e.Receipt
		if r.Action != action || r.ReturnedBytes == nil && r.GPUBytes == nil {
			continue
		}
		back := units.Bytes(r.Returned())
		if r.ClaimedBytes != nil {
			claimed := units.Bytes(*r.ClaimedBytes)
			out = append(out, fmt.Sprintf("a %s claimed %s and returned %s", action, claimed, back))
		} else {
			out = append(out, fmt.Sprintf("a %s returned %s", action, back))
		}
	}
	return out
}

// missRate is the part of the pool's requests that missed; NaN when unknown
// or too few.
func (c *Case) missRate() float64 {
	m, h := c.advance(record.ColPoolMisses), c.advance(record.ColPoolHits)
	if !(m+h >= leastLaunches) {
		return math.NaN()
	}
	return m / (m + h)
}

// misses: the pool is asked for ever new sizes and finds nothing it keeps.
func misses(c *Case) *Cause {
	if c.Class != account.PoolGrowth || !c.ByTrend {
		return nil
	}
	r := c.missRate()
	if !(r > .5) {
		return nil
	}
	e := evidence("%.0f %% of the pool's requests find nothing that fits", r*100)
	conf := .8
	if n := c.advance(record.ColShapes); n >= 10 {
		e = append(e, fmt.Sprintf("%s new shapes appeared", units.Whole(n)))
		conf = .9
	}
	return &Cause{ID: Misses, Confidence: conf * c.Confidence, Evidence: e,
		Next: "round request sizes to classes, or pad shapes to a few"}
}

// leastCompiled is how many compilations, of how many bytes at least, are a
// cache that is never emptied.
const (
	leastCompiled = 10
	compiledBytes = 4 * kib
)

// compileCache: memory outside the pool grows with new shapes, or with compiled
// pipelines where shapes are not known to be new.
func compileCache(c *Case) *Cause {
	if !c.ByTrend || c.Class != account.DriverGrowth && c.Class != account.HostGrowth {
		return nil
	}
	id, name, n := Compile, "new shape", c.advance(record.ColShapes)
	next := "bucket the shapes or bound the cache; with one fixed shape the growth must stop"
	pipelines := c.advance(record.ColPipelines)
	// Shapes for which the program compiled next to nothing fill no cache of what
	// was compiled.
	if !(n >= leastCompiled) || pipelines < leastCompiled {
		id, name, n = Pipelines, "compiled pipeline", pipelines
		next = "compile each kernel once, keep it by its source, and release what is replaced"
	}
	each := c.Size / n
	if !(n >= leastCompiled) || each < compiledBytes {
		return nil
	}
	e := evidence("memory outside the pool grows by %s a %s over %s of them",
		units.Bytes(each), name, units.Whole(n))
	if id == Compile && pipelines >= leastCompiled {
		e = append(e, fmt.Sprintf("%s pipelines were compiled meanwhile", units.Whole(pipelines)))
	}
	return &Cause{ID: id, Confidence: .85 * c.Confidence, Evidence: e, Next: next}
}
