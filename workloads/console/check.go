package console

// PoolStats is what the memory check prints of a pool. The reuse rate is left
// out when nothing was allocated.
type PoolStats struct {
	Buffers     int64
	Bytes       int64
	Reuses      int64
	Allocations int64
}

// CheckBefore writes the block before a run, if the memory check is on.
// allocated is what the device has allocated for the process, in bytes.
func (p *Printer) CheckBefore(allocated int64) {
	if p == nil || !p.modes.MemCheck {
		return
	}
	p.say("=== GPU Memory Check: Before Execution ===\nGPU memory allocated: %.2f MB\n", mb(allocated))
}

// CheckAfter writes the block after a run, if the memory check is on, and
// says whether the growth is a leak: strictly above threshold. Without a leak
// it adds what the growth means.
func (p *Printer) CheckAfter(before, after, threshold int64, s PoolStats) (leak bool) {
	grown := after - before
	leak = grown > threshold
	if p == nil || !p.modes.MemCheck {
		return leak
	}
	p.say(
		"=== GPU Memory Check: After Execution ===\nGPU memory allocated: %.2f MB\nMemory change: %+.2f MB\n",
		mb(after), mb(grown))
	p.poolStats(s)
	switch {
	case leak:
	case grown > 0:
		p.say("Small memory increase: %.2f MB\n   (This may be due to pool caching or small leaks)\n",
			mb(grown))
	default:
		p.say("✅ No memory leaks detected\n   All GPU memory properly released.\n")
	}
	return leak
}

// Stats writes the pool statistics at the end of a program, if they are on.
func (p *Printer) Stats(s PoolStats) {
	if p != nil && p.modes.BufferStats {
		p.poolStats(s)
	}
}

func (p *Printer) poolStats(s PoolStats) {
	p.say("Buffer Pool Stats:\n  Pooled buffers: %d\n  Pool memory: %.2f MB\n", s.Buffers, mb(s.Bytes))
	if total := s.Reuses + s.Allocations; total > 0 {
		p.say("  Reuse rate: %.1f%%\n", 100*float64(s.Reuses)/float64(total))
	}
}

// Leak writes the warning, which no setting turns off. The caller purges its
// pool next and reports with Purge.
func (p *Printer) Leak(grown int64) {
	if p == nil {
		return
	}
	p.talk("\n⚠️  WARNING: GPU memory leak detected!\n"+
		"   %.2f MB of GPU memory was not freed after execution.\n"+
		"\n🔧 Attempting to force-release GPU memory...\n", mb(grown))
}

// AfterPurge ends the warning: what is allocated now and what the purge that
// began at before gave back.
func (p *Printer) AfterPurge(before, after int64) {
	if p == nil {
		return
	}
	p.talk("   After purge: %.2f MB (%+.2f MB freed)\n", mb(after), mb(before-after))
}
