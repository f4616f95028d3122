package pool

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// shards are all parts of a pool. As many are in use as goroutines met at.
type shards struct {
	all   []shard
	width atomic.Uint32 // shards in use, a power of two
}

func (l *shards) init(n int) {
	l.width.Store(1)
	l.all = make([]shard, n)
	for i := range l.all {
		l.all[i].init()
	}
}

// shardCount leaves four shards a core, so that goroutines rarely meet.
func shardCount(policy Policy) int {
	if policy.oneLock() {
		return 1
	}
	return 1 << bits.Len(uint(4*runtime.GOMAXPROCS(0)-1))
}

// at returns the shard for the calling goroutine.
//
// Note: the address of a local variable stands for the goroutine. It is free,
// needs no runtime internals, and a wrong guess costs time only. Drawing a
// random number spreads one goroutine's buffers over all shards; sync.Pool
// tokens cost more than the lock.
func (l *shards) at() *shard {
	width := l.width.Load()
	if width == 1 {
		return &l.all[0]
	}
	var here byte
	stack := uint64(uintptr(unsafe.Pointer(&here))) >> 12
	return &l.all[(stack*0x9e3779b97f4a7c15>>32)&uint64(width-1)]
}

// widen doubles the number of shards in use.
func (l *shards) widen() {
	width := l.width.Load()
	if int(width) < len(l.all) {
		l.width.CompareAndSwap(width, width*2)
	}
}

// lockAll locks the shards in use, always in the same order, and returns
// them. Nobody holds one shard's lock while waiting for an earlier one's. A
// shard that comes into use meanwhile can take nothing from the locked ones.
func (l *shards) lockAll() []shard {
	locked := 0
	for {
		width := int(l.width.Load())
		if locked >= width {
			return l.all[:locked]
		}
		for ; locked < width; locked++ {
			l.all[locked].mu.Lock()
		}
	}
}

func unlockAll(shards []shard) {
	for i := range shards {
		shards[i].mu.Unlock()
	}
}
