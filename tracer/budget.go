package tracer

// bucket lets through so many a second on average, and so many at once.
type bucket struct {
	perSecond, burst, level float64
	last                    int64
}

func newBucket(perSecond, burst float64) bucket {
	return bucket{perSecond: perSecond, burst: burst, level: burst}
}

// take reports whether one more may pass at time now (ns).
func (b *bucket) take(now int64) bool {
	if now > b.last {
		b.level = min(b.burst, b.level+float64(now-b.last)/1e9*b.perSecond)
		b.last = now
	}
	if b.level < 1 {
		return false
	}
	b.level--
	return true
}

const (
	marksPerSecond = 2000
	maxMarks       = 1_000_000
)

// markBudget bounds the marks of agents in events.jsonl.
type markBudget struct {
	rate    bucket
	written int64
	surplus int64
}

func newMarkBudget() markBudget {
	return markBudget{rate: newBucket(marksPerSecond, 2*marksPerSecond)}
}

func (b *markBudget) take(now int64) bool {
	if b.written >= maxMarks || !b.rate.take(now) {
		b.surplus++
		return false
	}
	b.written++
	return true
}

// stepWorthEvent thins steps: of the first thousand each, then every tenth,
// from ten thousand on every hundredth, and so on.
func stepWorthEvent(n int64) bool {
	stride := int64(1)
	for limit := int64(1000); n > limit; limit *= 10 {
		stride *= 10
		if limit > 1<<58 {
			break
		}
	}
	return n%stride == 0
}
