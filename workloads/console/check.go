package console

import (
	"fmt"
	"strings"
)

// The lines that close TensorLogic's blocks, of the lengths they have there.
const (
	ruleBefore = 42
	ruleAfter  = 41
	ruleStats  = 32
)

func rule(length int) string { return strings.Repeat("=", length) + "\n\n" }

// PoolStats is what the memory check and the statistics print of a pool. The
// reuse rate is left out when nothing was allocated.
type PoolStats struct {
	Buffers     int64
	Bytes       int64
	Classes     int64
	Reuses      int64
	Allocations int64
	Evictions   int64
}

// reuseRate is the share of requests that an idle buffer served, in percent.
func (s PoolStats) reuseRate() float64 {
	return 100 * float64(s.Reuses) / float64(s.Reuses+s.Allocations)
}

// CheckBefore writes the block before a run, if the memory check is on.
// allocated is what the device has allocated for the process, in bytes.
func (p *Printer) CheckBefore(allocated int64) {
	if p == nil || !p.modes.MemCheck {
		return
	}
	p.talk("\n=== GPU Memory Check: Before Execution ===\nGPU memory allocated: %.2f MB\n%s", mb(allocated),
		rule(ruleBefore))
}

// CheckAfter writes the block after a run, if the memory check is on, and
// says whether the growth is a leak: strictly above threshold. Without a leak
// it adds what the growth means; with one, Leak does.
func (p *Printer) CheckAfter(before, after, threshold int64, s PoolStats) (leak bool) {
	grown := after - before
	leak = grown > threshold
	if p == nil || !p.modes.MemCheck {
		return leak
	}
	p.talk("\n=== GPU Memory Check: After Execution ===\nGPU memory allocated: %.2f MB\n"+
		"Memory change: %+.2f MB\n\nBuffer Pool Stats:\n  Pooled buffers: %d\n  Pool memory: %.2f MB\n",
		mb(after), mb(grown), s.Buffers, mb(s.Bytes))
	if s.Allocations > 0 {
		p.talk("  Reuse rate: %.1f%%\n", s.reuseRate())
	}
	switch {
	case leak:
	case grown > 0:
		p.talk("\n⚠️  Small memory increase: %.2f MB\n"+
			"   This could be buffer pool caching (normal) or a small leak.\n%s", mb(grown), rule(ruleAfter))
	default:
		p.talk("\n✅ No memory leaks detected\n   All GPU memory properly released.\n%s", rule(ruleAfter))
	}
	return leak
}

// Stats writes the pool statistics at the end of a program, if they are on, to
// its output. They have whole MB.
func (p *Printer) Stats(s PoolStats) {
	if p == nil || !p.modes.BufferStats {
		return
	}
	rate := ""
	if s.Allocations+s.Reuses > 0 {
		rate = fmt.Sprintf("  Reuse rate: %.1f%%\n", s.reuseRate())
	}
	p.say("\n=== Buffer Pool Stats: Program Execution ===\n  Pooled buffers: %d\n  Size classes: %d\n"+
		"  Total memory: %d MB\n  Allocations: %d\n  Reuses: %d\n  Evictions: %d\n%s%s",
		s.Buffers, s.Classes, s.Bytes/mib, s.Allocations, s.Reuses, s.Evictions, rate, rule(ruleStats))
}

// Leak writes the warning, which no setting turns off. The caller purges its
// pool next and reports with AfterPurge.
func (p *Printer) Leak(grown int64) {
	if p == nil {
		return
	}
	p.talk("\n⚠️  WARNING: GPU memory leak detected!\n"+
		"   %.2f MB of GPU memory was not freed after execution.\n"+
		"🔧 Attempting to force-release GPU memory...\n", mb(grown))
}

// AfterPurge ends the warning: what is allocated now and what the purge that
// began at before gave back.
func (p *Printer) AfterPurge(before, after int64) {
	if p == nil {
		return
	}
	p.talk("   After purge: %.2f MB (%+.2f MB freed)\n\n", mb(after), mb(before-after))
}
