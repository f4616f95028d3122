package metal

import (
	"errors"
	"fmt"
)

// The errors a caller branches on. Drivers wrap them with what was tried.
var (
	ErrInvalid     = errors.New("invalid argument")
	ErrOutOfMemory = errors.New("out of device memory")
	ErrReleased    = errors.New("used after release")
	ErrQueueFull   = errors.New("queue full of command buffers that were never committed")
	ErrUnsupported = errors.New("not supported here")
)

// OutOfMemoryError is a refused allocation: what was asked for, what the
// process holds, and the limit it met. It matches ErrOutOfMemory.
type OutOfMemoryError struct {
	RequestedBytes uint64
	AllocatedBytes uint64
	LimitBytes     uint64 // 0 when the limit is a number of buffers
	Buffers        int
	MaxBuffers     int // 0 when the limit is bytes
	Reason         string
}

func (e *OutOfMemoryError) Error() string {
	if e.MaxBuffers > 0 {
		return fmt.Sprintf("%v: %s: %d buffers exist, limit %d", ErrOutOfMemory, e.Reason, e.Buffers,
			e.MaxBuffers)
	}
	return fmt.Sprintf("%v: %s: requested %d B, allocated %d B, limit %d B",
		ErrOutOfMemory, e.Reason, e.RequestedBytes, e.AllocatedBytes, e.LimitBytes)
}

// Is reports that every OutOfMemoryError is an ErrOutOfMemory.
func (e *OutOfMemoryError) Is(target error) bool { return target == ErrOutOfMemory }
