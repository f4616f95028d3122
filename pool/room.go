package pool

import "sync/atomic"

// room is how many bytes may be idle in a pool. Each shard holds a part of it, its
// quota; what none holds is spare. It is safe for concurrent use after init.
type room struct {
	limit uint64 // of idle bytes in pages, when tight
	chunk uint64 // that a shard takes at a time
	spare atomic.Uint64
	tight bool // there is a limit
}

// init fixes the limit that the policy sets on a device with such a working set.
func (r *room) init(policy Policy, workingSet uint64, shards int) {
	r.limit = policy.MaxIdleBytes
	if f := policy.IdleFraction; f > 0 {
		share := uint64(f * float64(workingSet))
		if r.limit == 0 || share < r.limit {
			r.limit = share
		}
	}
	r.tight = policy.MaxIdleBytes > 0 || policy.IdleFraction > 0
	r.chunk = r.limit / uint64(8*shards)
	r.spare.Store(r.limit)
}

// take takes the bytes and some more out of what no shard holds.
func (r *room) take(bytes uint64) uint64 {
	for {
		have := r.spare.Load()
		take := min(have, bytes+r.chunk)
		if take == 0 || r.spare.CompareAndSwap(have, have-take) {
			return take
		}
	}
}

// findRoom reports whether so many more bytes may become idle here; it takes
// some of what is spare for them when it must.
func (sh *shard) findRoom(p *Pool, bytes uint64) bool {
	if !p.room.tight {
		return true
	}
	need := sh.idle.PageBytes + bytes
	if need > sh.quota {
		sh.quota += p.room.take(need - sh.quota)
	}
	return need <= sh.quota
}

// shareRoom lets other shards have what is too much for one: most of what is
// free stays, as the shard will likely need it next.
func (sh *shard) shareRoom(p *Pool) {
	if p.room.tight && len(p.shards.all) > 1 && sh.quota-sh.idle.PageBytes > 4*p.room.chunk {
		sh.giveRoom(&p.room, 2*p.room.chunk)
	}
}

// giveRoom makes the shard's free part of the limit spare, but for so many
// bytes.
func (sh *shard) giveRoom(r *room, keep uint64) {
	free := sh.quota - sh.idle.PageBytes - keep
	sh.quota -= free
	r.spare.Add(free)
}

// collectRoom makes the shards but own give up room, idle buffers if they must,
// until bytes are spare.
func (l *shards) collectRoom(p *Pool, own *shard, bytes uint64) (evicted []*slot) {
	for i := range l.all {
		sh := &l.all[i]
		if sh == own {
			continue
		}
		sh.mu.Lock()
		sh.giveRoom(&p.room, 0)
		for !sh.age.empty() && p.room.spare.Load() < bytes {
			if old := sh.evict(p, sh.age.next.s); old != nil {
				evicted = append(evicted, old)
			}
			sh.giveRoom(&p.room, 0)
		}
		sh.mu.Unlock()
		if p.room.spare.Load() >= bytes {
			break
		}
	}
	return evicted
}
