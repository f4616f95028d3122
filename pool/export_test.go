package pool

import "fmt"

// HoldBusy holds the lock that policies with DropWhenBusy give way to.
func HoldBusy(p *Pool) (release func()) {
	p.busy.Lock()
	return p.busy.Unlock
}

// FillRefs gives a live handle as many references as there may be.
func FillRefs(h Handle) {
	sh := h.s.lockHome()
	defer sh.mu.Unlock()
	sh.extra += uint64(maxRefs - h.s.refs)
	h.s.refs = maxRefs
}

// CheckRoom verifies that the limit of idle bytes is all accounted for, in the
// shards' quotas or spare, and that no shard exceeds its quota.
func CheckRoom(p *Pool) error {
	if !p.room.tight {
		return nil
	}
	shards := p.shards.lockAll()
	defer unlockAll(shards)
	total := p.room.spare.Load()
	for i := range shards {
		sh := &shards[i]
		total += sh.quota
		if sh.idle.PageBytes > sh.quota {
			return fmt.Errorf("%d B idle in a shard, its quota is %d B", sh.idle.PageBytes, sh.quota)
		}
	}
	if total != p.room.limit {
		return fmt.Errorf("%d B in quotas and spare, the limit is %d B", total, p.room.limit)
	}
	return nil
}

// Widen spreads the pool over all its shards, as contention would, and
// returns how many there are.
func Widen(p *Pool) int {
	for range 64 {
		p.shards.widen()
	}
	return int(p.shards.width.Load())
}
