package pool

import (
	"sync"
	"sync/atomic"
)

// batches are those that use a pool. They are safe for concurrent use.
type batches struct {
	mu  sync.Mutex
	all []*Batch // appended to or replaced: poll may be going through it
}

// add takes b in, unless the pool is closed.
func (l *batches) add(b *Batch, closed *atomic.Bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if closed.Load() {
		return false
	}
	l.all = append(l.all, b)
	return true
}

// poll lets the batches see what the device has completed, and reports whether
// anything has. A batch that is at work is passed over: it looks by itself. No
// lock of a shard is held.
func (l *batches) poll() bool {
	l.mu.Lock()
	all := l.all
	l.mu.Unlock()
	done := false
	for _, b := range all {
		if b.mu.TryLock() {
			done = b.pollLocked() || done
			b.mu.Unlock()
		}
	}
	return done
}

func (l *batches) forget(b *Batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := make([]*Batch, 0, len(l.all))
	for _, other := range l.all {
		if other != b {
			kept = append(kept, other)
		}
	}
	l.all = kept
}
