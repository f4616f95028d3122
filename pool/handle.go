package pool

import "github.com/gpumem/gpumem/metal"

// Handle is one claim on a pooled buffer. It is a small value that compares
// with ==; the zero value is no handle. Copies of a handle stand for the same
// buffer and the same generation: when the last reference is given up every
// copy becomes stale, and using one is an error matching ErrStale, also when
// the buffer has been handed out anew.
//
// References are counted, not named: who gives up more than he took makes the
// handle of another holder stale, and the error shows up there.
//
// All methods are safe for concurrent use.
type Handle struct {
	s      *slot
	gen    uint64
	length uint64
}

// Retain adds a reference and returns the handle. It never copies memory.
func (h Handle) Retain() (Handle, error) {
	if err := h.retain(); err != nil {
		return Handle{}, err
	}
	return h, nil
}

// Release gives one reference up and says what became of it. A handle that
// was already released gives NoOutcome and an error matching ErrStale. When
// the device refuses to take a dropped buffer back, the outcome stands and
// the error is the device's.
func (h Handle) Release() (Outcome, error) {
	if h.s == nil {
		return NoOutcome, ErrNoHandle
	}
	return h.s.pool.release(h)
}

// Buffer is the buffer, nil when the handle is stale. It is at least Length
// bytes long and valid until the last reference is given up.
func (h Handle) Buffer() metal.Buffer {
	if h.Refs() == 0 {
		return nil
	}
	return h.s.buf
}

// Length is the number of bytes that were requested; 0 for no handle.
func (h Handle) Length() uint64 { return h.length }

// Refs is the reference count, 0 when the handle is stale.
func (h Handle) Refs() int {
	if h.s == nil {
		return 0
	}
	sh := h.s.lockHome()
	defer sh.mu.Unlock()
	return h.count()
}
