package pool

import (
	"cmp"
	"slices"
)

// Stats returns the counts of one moment: nothing is half in them. It
// allocates nothing.
func (p *Pool) Stats() Stats {
	shards := p.shards.lockAll()
	s := sum(shards)
	unlockAll(shards)

	s.Policy = p.policy.Name
	s.Allocs, s.Frees = p.charged.allocs.Load(), p.charged.frees.Load()
	s.ReleaseErrors = p.charged.releaseErrors.Load()
	s.PeakReservedBytes = p.charged.peakReserved.Load()

	p.mu.Lock()
	defer p.mu.Unlock()
	m := &p.peaks
	m.PeakLiveCount = max(m.PeakLiveCount, s.PeakLiveCount, s.Live.Count)
	m.PeakLiveBytes = max(m.PeakLiveBytes, s.PeakLiveBytes, s.Live.Bytes)
	m.PeakIdleBytes = max(m.PeakIdleBytes, s.PeakIdleBytes, s.Idle.Bytes)
	m.PeakPendingBytes = max(m.PeakPendingBytes, s.PeakPendingBytes, s.Pending.Bytes)
	s.PeakLiveCount, s.PeakLiveBytes = m.PeakLiveCount, m.PeakLiveBytes
	s.PeakIdleBytes, s.PeakPendingBytes = m.PeakIdleBytes, m.PeakPendingBytes
	return s
}

// sum adds the locked shards up. A shard's own mark is a bound of
// the pool's from below, and the mark itself while one shard is in use.
func sum(shards []shard) Stats {
	var s Stats
	for i := range shards {
		sh := &shards[i]
		s.Live = s.Live.Add(sh.live())
		s.Pending = s.Pending.Add(sh.pending)
		s.Idle = s.Idle.Add(sh.idle)
		s.RequestedBytes += sh.requested
		s.Hits += sh.hits
		s.Misses += sh.misses
		s.Unpooled += sh.unpooled
		for o, n := range sh.outcomes {
			s.Outcomes[o] += n
		}
		s.Refs += sh.live().Count + sh.extra
		s.Evicted = s.Evicted.Add(sh.evicted)
		s.Purged = s.Purged.Add(sh.purged)
		s.Hazards += sh.hazards
		s.PeakLiveCount = max(s.PeakLiveCount, sh.peakLiveCount)
		s.PeakLiveBytes = max(s.PeakLiveBytes, sh.peakLive)
		s.PeakIdleBytes = max(s.PeakIdleBytes, sh.peakIdle)
		s.PeakPendingBytes = max(s.PeakPendingBytes, sh.peakPending)
	}
	return s
}

// Classes lists the size classes seen so far by falling buffer length. Of a
// program with thousands of sizes, classes that hold nothing may be missing.
func (p *Pool) Classes() []ClassStats {
	byClass := make(map[classKey]*ClassStats)
	shards := p.shards.lockAll()
	for i := range shards {
		for key, l := range shards[i].lists {
			c := byClass[key]
			if c == nil {
				c = &ClassStats{Class: key.class(), MaxIdle: l.maxIdle}
				byClass[key] = c
			}
			c.Live += l.live()
			c.Pending += l.pendings
			c.Idle += l.idles
			c.Hits += l.hits
			c.Misses += l.misses
			c.Kept += l.kept
			c.Dropped += l.dropped
		}
	}
	unlockAll(shards)
	all := make([]ClassStats, 0, len(byClass))
	for _, c := range byClass {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b ClassStats) int {
		return cmp.Or(cmp.Compare(b.Class.Bytes, a.Class.Bytes),
			cmp.Compare(a.Class.ElementSize, b.Class.ElementSize),
			cmp.Compare(a.Class.Kind, b.Class.Kind))
	})
	return all
}

// Hazards returns the first hundred hazards; Stats counts all.
func (p *Pool) Hazards() []Hazard { return p.hazards.list() }
