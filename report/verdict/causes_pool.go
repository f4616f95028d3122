package verdict

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

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
		e = append(e, s.receipts(record.ActionPurge)...)
		return &Cause{ID: CausePolicy, Confidence: .95 * s.confidence, Evidence: e, Next: next}
	}
	if s.restsOn == ByRefill {
		return &Cause{ID: CausePolicy, Confidence: .9 * s.confidence, Evidence: []string{s.why}, Next: next}
	}
	if s.missRate() > .5 {
		return nil // the pool is not used again: a matter of size classes
	}
	e := []string{fmt.Sprintf("idle memory grows by %s while live memory does not", size(s.grow[keyIdle].Amount()))}
	return &Cause{ID: CausePolicy, Confidence: .7 * s.confidence, Next: next,
		Evidence: append(e, s.receipts(record.ActionPurge)...)}
}

// count is a column's value at the last mark released.
func (s *subject) count(column string) (float64, bool) {
	v := s.led.cols[column]
	if k := stat.Known(v); len(k) > 0 {
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

// leastCompiled is how many compilations, of how many bytes at least, are a
// cache that is never emptied.
const (
	leastCompiled = 10
	compiledBytes = 4 * kib
)

// compileCache: memory outside the pool grows with new shapes, or with compiled
// pipelines where shapes are not known to be new.
func (s *subject) compileCache() *Cause {
	if s.restsOn != ByTrend || s.class != DriverGrowth && s.class != HostGrowth {
		return nil
	}
	id, name, n := CauseCompile, "new shape", s.advance(record.ColShapes)
	next := "bucket the shapes or bound the cache; with one fixed shape the growth must stop"
	if !(n >= leastCompiled) {
		id, name, n = CausePipelines, "compiled pipeline", s.advance(record.ColPipelines)
		next = "compile each kernel once, keep it by its source, and release what is replaced"
	}
	each := s.size() / n
	if !(n >= leastCompiled) || each < compiledBytes {
		return nil
	}
	e := []string{fmt.Sprintf("memory outside the pool grows by %s a %s over %.0f of them", size(each), name, n)}
	if p := s.advance(record.ColPipelines); id == CauseCompile && p >= leastCompiled {
		e = append(e, fmt.Sprintf("%.0f pipelines were compiled meanwhile", p))
	}
	return &Cause{ID: id, Confidence: .85 * s.confidence, Evidence: e, Next: next}
}
