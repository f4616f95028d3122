package metal

import "io"

// Device is one GPU and the process-wide state of its driver.
//
// A Device is safe for concurrent use. Everything made from it must be
// released before Close; Close returns an error that names what was not.
type Device interface {
	// Info describes the device and its limits; it never changes.
	Info() Info
	// Usage is what the driver counts for this process right now.
	Usage() Usage
	// NewBuffer allocates length bytes of shared storage, rounded up to
	// Info.PageSize, and labels them. It returns an error matching
	// ErrOutOfMemory when a limit would be passed, ErrInvalid when length
	// is zero or above Info.MaxBufferLength.
	NewBuffer(length uint64, label string) (Buffer, error)
	// NewQueue makes a queue with at most maxCommandBuffers command
	// buffers made and not completed; 0 means 64, Metal's default.
	NewQueue(maxCommandBuffers int) (Queue, error)
	// NewPipeline compiles the kernel of that name (package kernels). An
	// unknown name is an error matching ErrInvalid.
	NewPipeline(kernel string) (Pipeline, error)
	// Autorelease runs f inside an autorelease scope, as @autoreleasepool
	// does: temporaries that the driver makes for command buffers and
	// encoders while f runs are freed when f returns (or panics). Scopes
	// nest. Outside every scope temporaries live until the process ends.
	Autorelease(f func())
	// Close releases the device. While something is left, it stays open.
	Close() error
}

// Info describes a device. Sizes are bytes.
type Info struct {
	Name   string // "soft", "Apple M3 Max", "NVIDIA H200"
	Driver string // soft, apple, cuda
	// Unified reports that buffers are host memory, so that one byte
	// counts in the device ledger and in the host ledger.
	Unified bool
	// MaxBufferLength is the largest length NewBuffer takes.
	MaxBufferLength uint64
	// RecommendedWorkingSet is the budget: allocations beyond it fail.
	RecommendedWorkingSet uint64
	// MaxBuffers is how many buffers may exist at once (499,000 on Metal).
	MaxBuffers int
	// PageSize is what AllocatedSize is rounded to.
	PageSize uint64
}

// Usage is what the driver counts for this process. The first group is the
// present state, the second running totals since the device was opened.
type Usage struct {
	AllocatedBytes int64 // sum of AllocatedSize of existing buffers
	Buffers        int64
	CommandBuffers int64 // made and not yet completed, committed or not
	InFlight       int64 // committed, not completed
	Pipelines      int64

	TotalBuffers        int64
	TotalCommandBuffers int64
	TotalDispatches     int64
}

// Buffer is device memory that the host can read and write. ReadAt and
// WriteAt copy through the host; the caller first waits for the commands that
// use the buffer. They behave as the io interfaces say: ReadAt past the end
// reads what there is and returns io.EOF, WriteAt past the end writes what fits
// and returns io.ErrShortWrite, a negative offset is ErrInvalid; after Release
// both return ErrReleased.
//
// The owner releases a buffer exactly once; its memory goes when the last
// command buffer that uses it has completed.
type Buffer interface {
	io.ReaderAt
	io.WriterAt
	Length() uint64
	// AllocatedSize is Length rounded up to the page size.
	AllocatedSize() uint64
	Label() string
	// Contents is the buffer's memory where the host can address it
	// (unified memory), else nil. It is invalid after Release.
	Contents() []byte
	// SetPurgeable changes the purgeable state and returns the old one.
	// Empty gives the pages back to the operating system at once; contents
	// are then undefined. KeepCurrent only asks; an unknown state does as
	// well, and so does every call after Release.
	SetPurgeable(PurgeableState) PurgeableState
	// Release gives the buffer up. A second call returns ErrReleased.
	Release() error
}

// PurgeableState has the values of MTLPurgeableState.
type PurgeableState uint8

// The purgeable states (Apple, MTLResource.h).
const (
	KeepCurrent PurgeableState = 1 + iota
	NonVolatile
	Volatile
	Empty
)

// Queue orders command buffers: they execute and complete in commit order.
type Queue interface {
	// NewCommandBuffer makes a command buffer. When the queue's maximum is
	// outstanding it waits for one to complete; when none of them was
	// committed, so that the wait could never end, it returns
	// ErrQueueFull.
	NewCommandBuffer() (CommandBuffer, error)
	// Release gives the queue up after its committed work has completed.
	Release() error
}

// Status has the values of MTLCommandBufferStatus.
type Status uint8

// The states of a command buffer (Apple, MTLCommandBuffer.h).
const (
	NotEnqueued Status = iota
	Enqueued
	Committed
	Scheduled
	Completed
	Failed
)

// CommandBuffer collects encoders and is committed once. It retains every
// resource bound in it until it has completed. It is used by one goroutine at
// a time up to Commit; Wait, Status and Err are safe from any.
type CommandBuffer interface {
	// NewEncoder opens a compute encoder; only one may be open.
	NewEncoder() (Encoder, error)
	// Commit hands the work to the device and returns at once.
	Commit() error
	// Wait blocks until the work has completed and returns Err. Usage no
	// longer counts the command buffer then. Without a Commit it returns an
	// error matching ErrInvalid at once.
	Wait() error
	Status() Status
	// Err is the error of a Failed command buffer, else nil.
	Err() error
	// Release gives the command buffer up; one that was never committed is
	// dropped with its encoders' work. Committed work still completes.
	Release() error
}

// Encoder records dispatches. Binding errors are reported by Dispatch.
type Encoder interface {
	SetPipeline(Pipeline)
	// SetBuffer binds b from offset on at an argument index of the kernel.
	SetBuffer(index int, b Buffer, offset uint64)
	// SetBytes copies p (1 B to 4 KiB) at an argument index of the kernel that
	// the kernel does not write.
	SetBytes(index int, p []byte)
	// Dispatch runs the kernel once for each point of grid.
	Dispatch(grid Size) error
	// End closes the encoder. A command buffer whose encoder is open
	// cannot be committed.
	End() error
}

// Size is a grid in threads; zero components count as 1.
type Size struct{ X, Y, Z int }

// Pipeline is a compiled kernel.
type Pipeline interface {
	Kernel() string
	Release() error
}
