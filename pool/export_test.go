package pool

import "fmt"

// HoldBusy holds the lock that policies with DropWhenBusy give way to.
func HoldBusy(p *Pool) (release func()) {
	p.busy.Lock()
	return p.busy.Unlock
}

// CheckRoom verifies that the limit of idle bytes is all accounted for: idle,
// in the shards' room, or spare.
func CheckRoom(p *Pool) error {
	if !p.tight {
		return nil
	}
	shards := p.lockAll()
	defer unlockAll(shards)
	total := p.spare.Load() + sum(shards).Idle.PageBytes
	for i := range shards {
		total += shards[i].room
	}
	if total != p.limit {
		return fmt.Errorf("%d B of room and idle, the limit is %d B", total, p.limit)
	}
	return nil
}

// Widen spreads the pool over all its shards, as contention would, and
// returns how many there are.
func Widen(p *Pool) int {
	for range 64 {
		p.widen()
	}
	return int(p.width.Load())
}
