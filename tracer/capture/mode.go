package capture

import (
	"errors"
	"fmt"
)

// Mode is the way into the program.
type Mode string

// The modes of `gpumem run --inject`.
const (
	ModePreload Mode = "preload"
	ModeAudit   Mode = "audit"
	ModeEBPF    Mode = "ebpf"
	ModeNone    Mode = "none"
)

// ErrUnsupported is wrapped by errors of what this system or processor has no
// means for. Capture works on Linux, amd64 and arm64.
var ErrUnsupported = errors.New("not supported here")

// ErrPrivileges is wrapped by errors of Attach when the kernel refuses.
var ErrPrivileges = errors.New("missing privileges")

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case ModePreload, ModeAudit, ModeEBPF, ModeNone:
		return m, nil
	}
	return "", fmt.Errorf("inject mode %q: want preload, audit, ebpf or none", name)
}

// Names of what the interposer reads in its environment.
const (
	EnvDir   = "GPUMEM_CAPTURE_DIR"   // set by Prepare
	EnvStack = "GPUMEM_STACK"         // fp (default) or none
	EnvSlots = "GPUMEM_CAPTURE_SLOTS" // events in a ring, 64 to 1,048,576; default 32,768
)

// Columns of Cells.
const (
	// ColAllocBytes and ColAllocCount are the memory of devices that the
	// program holds: cuMemAlloc, managed, stream-ordered, arrays, and physical
	// memory of cuMemCreate until it is both released and unmapped. With more
	// than one device there is ColAllocBytes@N, too.
	ColAllocBytes = "driver_alloc_bytes"
	ColAllocCount = "driver_alloc_count"
	// The parts of ColAllocBytes, each only once there was some.
	ColManagedBytes = "driver_managed_bytes"
	ColAsyncBytes   = "driver_async_bytes" // stream-ordered, used out of pools
	ColVMMBytes     = "driver_vmm_bytes"
	ColArrayBytes   = "driver_array_bytes"
	// ColPinnedBytes is page-locked host memory that the driver allocated,
	// ColRegisteredBytes the program's own that was page-locked.
	ColPinnedBytes     = "pinned_bytes"
	ColPinnedCount     = "pinned_count"
	ColRegisteredBytes = "registered_bytes"
	// Handles that are alive.
	ColEvents   = "events_count"
	ColStreams  = "streams_count"
	ColGraphs   = "graphs_count"  // instantiated
	ColModules  = "modules_count" // modules and libraries
	ColContexts = "contexts_count"
	ColPools    = "pools_count"
	// Running totals.
	ColAllocs = "driver_allocs"
	ColFrees  = "driver_frees"
	ColFailed = "driver_failed_allocs"
	ColLost   = "capture_lost" // events
)
