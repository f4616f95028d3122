package probe

import (
	"errors"
	"time"
)

// Unknown stands for a number that the system does not tell. It is never 0.
const Unknown int64 = -1

// ErrExited is returned for a process that has exited, is a zombie, never was,
// or has no memory of its own, as threads of the kernel.
var ErrExited = errors.New("process has exited")

// Memory is the memory of one process, in bytes unless said; each may be Unknown. The
// package's documentation says what they mean.
type Memory struct {
	RSS, Anon, File, Shmem, Swap, Footprint int64
	// Peak is the greatest footprint of the process's life.
	Peak int64
	// Dirty is what the process has changed of regular files that it maps, and the
	// system has not written yet. It is part of the footprint; the rest of File is
	// clean, and the system drops it when it needs memory. Who reads it says so.
	Dirty int64
	// Code is the address space of mapped files that have code: no more of File is code.
	// Who reads it says so.
	Code int64
	// Threads is how many threads share the memory.
	Threads int64
	// Reserved is memory that the process may write, touched or not: its private memory,
	// and as far as who reads it adds them, shared memory and files that it maps to write.
	Reserved int64
	// Heap is that of the program's language, as read now. Who reads it says so.
	Heap Heap
}

// MappedFiles is what a process has mapped of files, in bytes.
type MappedFiles struct {
	// Dirty is what the process has changed of regular files, and the system has not
	// written yet; or Unknown.
	Dirty int64
	// Shared says that it maps a file so that changes go there.
	Shared bool
	// Code is the address space of files that have code.
	Code int64
	// Writable is the address space of shared memory, and of files mapped so that changes
	// go there.
	Writable int64
	// Drivers is the address space of the files of devices, and DriversPages what of it is
	// memory of the machine that a driver keeps for the process, or Unknown. CUDA's pinned
	// memory for writing alone (cudaHostAllocWriteCombined) lies there: the kernel counts its
	// pages as a file's.
	Drivers, DriversPages int64
	// Ahead says that the program's allocator, or its language's heap, reserves far more at
	// once than was asked for, so that nothing follows from what is reserved.
	Ahead bool
	// Heaped says that it is a Java virtual machine that publishes its counters, and Heap
	// what of its heap is in memory or in swap; or Unknown.
	Heaped bool
	Heap   int64
}

// Heap is what a language's machine tells of the heap that it collects; each may be Unknown.
type Heap struct {
	Resident int64 // of the heap, in memory or in swap, in bytes
	Kept     int64 // bytes that the last collection left, and what was promoted past it
	// Collections are all so far, and Full those of the old objects, or steps of such.
	Collections, Full int64
}

// UnknownHeap is a Heap of which nothing is known.
func UnknownHeap() Heap { return Heap{Unknown, Unknown, Unknown, Unknown} }

// FileCache is the clean pages of mapped files, which are the page cache's and no part
// of the footprint.
func (m *Memory) FileCache() int64 {
	if m.File == Unknown || m.Dirty == Unknown {
		return Unknown
	}
	return max(m.File-m.Dirty, 0)
}

// UnknownMemory is Memory of which nothing is known.
func UnknownMemory() Memory {
	return Memory{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown,
		Unknown, UnknownHeap()}
}

// Machine is where the system's files are. The zero value is the machine we
// run on; tests put a folder of theirs in the place. It has a meaning on Linux
// only.
type Machine struct {
	Proc   string // in place of /proc
	Cgroup string // in place of /sys/fs/cgroup
}

// Identity tells a process from every other, also from a later one of the same
// pid. Start is when it began: on Linux in ticks of 10 ms since boot, elsewhere
// in milliseconds since 1970.
type Identity struct {
	PID   int
	Start int64
}

// Totals are what the machine has and what limits a process on it, in bytes;
// each may be Unknown.
type Totals struct {
	Memory, Available   int64 // physical; available without swapping
	SwapTotal, SwapFree int64
	// CgroupLimit is the smallest memory limit of the process's control group
	// and those around it, CgroupUsage what that group uses of it. Both are
	// Unknown when no limit is set.
	CgroupLimit, CgroupUsage int64
}

// Usage is what this process itself has used.
type Usage struct {
	CPU time.Duration // user and system time of all threads
	RSS int64         // resident bytes now, or Unknown
}

// Open opens a process of this machine. See Machine.Open.
func Open(pid int) (*Process, error) { return Machine{}.Open(pid) }

// NewTree follows the descendants of a process of this machine. See
// Machine.NewTree.
func NewTree(pid int) *Tree { return Machine{}.NewTree(pid) }

// ReadTotals reads the totals of this machine for one of its processes; pid 0
// is this process.
func ReadTotals(pid int) (Totals, error) { return Machine{}.ReadTotals(pid) }
