package drm

import (
	"errors"
	"fmt"
	"time"
)

// Options of an Index. The zero value reads the running system.
type Options struct {
	// Root is the root of the file system that holds proc and sys; "" is "/".
	Root string
	// Rescan is how long the known descriptors of a process serve before its
	// fd folder is read again; 0 means DefaultRescan. A process that opens a
	// device is noticed that much later at most.
	Rescan time.Duration
	// Now is the clock, for tests; nil means time.Now.
	Now func() time.Time
}

// DefaultRescan is how often a process's fd folder is read again. A sweep over
// a busy desktop takes some milliseconds, so once in two seconds costs little.
const DefaultRescan = 2 * time.Second

// Usage is what one device holds for a process.
type Usage struct {
	Driver string
	PDev   string // PCI address, empty for platform devices
	// LocalBytes is memory of the device, HostBytes host memory that the
	// device can reach (part of the process's footprint on integrated GPUs).
	LocalBytes int64
	HostBytes  int64
	Clients    int // clients counted
	// Shared is true when another process holds one of these clients too, as
	// far as the last scan of the machine has seen.
	Shared bool
}

// Process is a process with device files open.
type Process struct {
	PID     int
	Devices []Usage
}

// Scan is one pass over all processes.
type Scan struct {
	Processes []Process // those with at least one client, by PID
	// Devices are the sums over all processes, with each client counted once.
	Devices []Usage
	// Hidden are the processes whose descriptors we may not see:
	// their memory is in nobody's sum. Root or CAP_SYS_PTRACE sees all.
	Hidden []int
	// Warnings are lines that could not be understood, by driver.
	Warnings []string
}

// The errors a caller branches on. Errors of a single process match
// fs.ErrNotExist (no such process) or fs.ErrPermission (another user's).
var (
	// ErrUnsupported also matches the standard library's errors.ErrUnsupported.
	ErrUnsupported = fmt.Errorf("drm: %w", errors.ErrUnsupported)
	ErrClosed      = errors.New("drm: used after close")
)
