package pool

import (
	"errors"
	"fmt"

	"github.com/gpumem/gpumem/metal"
)

// The errors a caller branches on. They arrive wrapped with what was tried.
var (
	ErrPolicy   = errors.New("invalid policy")
	ErrRequest  = errors.New("invalid request")
	ErrNoHandle = errors.New("no handle")
	// ErrStale is a handle whose last reference was already given up: a
	// double release, or a use after release.
	ErrStale = errors.New("handle already released")
	// ErrForeign is a handle of another pool.
	ErrForeign = errors.New("handle of another pool")
	ErrRefs    = errors.New("too many references to one buffer")
	ErrClosed  = errors.New("pool is closed")
	// ErrLive is Close of a pool whose buffers are still referenced or used
	// by commands.
	ErrLive = errors.New("buffers still in use")
)

// OutOfMemoryError is a request that the device refused also after the pool
// had given its idle buffers back. It wraps the device's error, so it matches
// metal.ErrOutOfMemory. Bytes are whole pages.
type OutOfMemoryError struct {
	RequestedBytes uint64 // what the program asked for, unrounded
	LiveBytes      uint64
	PendingBytes   uint64
	IdleBytes      uint64 // before the pool gave them back
	LimitBytes     uint64 // the working set the device recommends
	Label          string
	Err            error
}

// Error says requested, live, pending, idle and limit.
func (e *OutOfMemoryError) Error() string {
	return fmt.Sprintf(
		"get %q: requested %d B, live %d B, pending %d B, idle %d B (given back first), limit %d B: %v",
		e.Label, e.RequestedBytes, e.LiveBytes, e.PendingBytes, e.IdleBytes, e.LimitBytes, e.Err)
}

// Unwrap returns the device's error.
func (e *OutOfMemoryError) Unwrap() error { return e.Err }

// Is reports that every OutOfMemoryError is a metal.ErrOutOfMemory.
func (e *OutOfMemoryError) Is(target error) bool { return target == metal.ErrOutOfMemory }

// LiveError is what Close found still in use. It matches ErrLive.
type LiveError struct {
	Live, Pending Amount
	Survivors     []Survivor // the largest first
}

// Error names the amounts and the largest site.
func (e *LiveError) Error() string {
	msg := fmt.Sprintf("close pool: %v: %d live (%d B), %d pending (%d B)",
		ErrLive, e.Live.Count, e.Live.Bytes, e.Pending.Count, e.Pending.Bytes)
	if len(e.Survivors) > 0 && e.Survivors[0].Site != "" {
		msg += fmt.Sprintf("; most from %s", e.Survivors[0].Site)
	}
	return msg
}

// Is reports that every LiveError is an ErrLive.
func (e *LiveError) Is(target error) bool { return target == ErrLive }
