package pool

import (
	"fmt"
	"sync/atomic"
)

// charge counts what the pool took of the device and gave back to it. It is safe
// for concurrent use.
type charge struct {
	reserved, peakReserved atomic.Uint64 // bytes in pages
	allocs, frees          atomic.Uint64
	releaseErrors          atomic.Uint64
}

// made counts the buffer of a new slot.
func (c *charge) made(s *slot) {
	c.allocs.Add(1)
	raise(&c.peakReserved, c.reserved.Add(s.pages))
}

// discard gives a forgotten slot's buffer back to the device; no lock is held.
func (c *charge) discard(s *slot) error {
	c.frees.Add(1)
	c.reserved.Add(^(s.pages - 1))
	if err := s.buf.Release(); err != nil {
		c.releaseErrors.Add(1)
		return fmt.Errorf("release buffer %q: %w", s.label, err)
	}
	return nil
}

// raise lifts a high-water mark to v.
func raise(mark *atomic.Uint64, v uint64) {
	for {
		old := mark.Load()
		if v <= old || mark.CompareAndSwap(old, v) {
			return
		}
	}
}
