package nvml

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Unknown is the value of a quantity that the driver did not supply.
const Unknown int64 = -1

// NoInstance is the instance number of a process outside any MIG instance.
const NoInstance = -1

// Options say which library to load. The zero value is right for a machine
// that is set up in the usual way.
type Options struct {
	// Library is the shared library's name or path. Empty tries the system's
	// own search and then the two places known to lie outside it (WSL, NixOS).
	Library string
	// SMI, when set, is the nvidia-smi executable to ask instead of loading a
	// library. Builds with the tag nodl ask "nvidia-smi" when it is empty.
	SMI string
	// Root is where the proc file system is found, for PID namespaces. Empty
	// means "/".
	Root string
	// Timeout is how long a Sampler waits for the driver before it gives a
	// sample up; 0 means DefaultTimeout. A driver can stall for seconds while
	// a device is failing, and recording must go on.
	Timeout time.Duration
}

// DefaultTimeout is how long a Sampler waits for the driver by default.
const DefaultTimeout = time.Second

// Kind says in which of the driver's lists a process stands; a process may
// stand in several.
type Kind uint8

// The lists of the driver.
const (
	Compute  Kind = 1 << iota // CUDA and the like
	Graphics                  // OpenGL, Vulkan, X
	MPS                       // clients of the multi-process service
)

// String names the lists, joined by "+".
func (k Kind) String() string {
	var names []string
	for i, n := range []string{"compute", "graphics", "mps"} {
		if k&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, "+")
}

// Device is one GPU. Strings that are not known are empty, numbers Unknown.
type Device struct {
	Index int
	Name  string
	UUID  string
	// PCI is the address as the kernel writes it, 0000:65:00.0, so that it can
	// be compared with the other sources.
	PCI string

	TotalBytes int64
	// UsedBytes is what is allocated on the device by everyone. It excludes
	// ReservedBytes when that is known and includes it otherwise, because the
	// older call does not tell them apart.
	UsedBytes     int64
	FreeBytes     int64
	ReservedBytes int64

	// MIG is true when the device is split; Instances then lists the parts
	// that this process may see.
	MIG        bool
	Instances  []Instance
	Accounting bool // the driver keeps each process's peak

	// Notes say why a number is unknown or must be read with care.
	Notes []string
}

// Instance is one MIG part of a device.
type Instance struct {
	GPUInstance     int
	ComputeInstance int
	UUID            string
	TotalBytes      int64
	UsedBytes       int64
}

// Process is what one device charges one process, in one MIG instance.
type Process struct {
	PID    int // as the driver writes it; see PIDMap for other namespaces
	Device int
	Kind   Kind
	// Bytes is the greatest figure of the lists the process stands in (they
	// count the same memory), Unknown when none gave one.
	Bytes           int64
	GPUInstance     int // NoInstance when not in a MIG instance
	ComputeInstance int
}

// Peak is the driver's own accounting of one process over its whole life,
// also after its end.
type Peak struct {
	PID       int
	Device    int
	PeakBytes int64
	Running   bool
	// TimeMillis is how long the process held a context; 0 while it runs.
	TimeMillis int64
}

// The errors a caller branches on; every error of this package that stems
// from the driver is an *Error and matches at most one of them.
var (
	// ErrUnsupported also matches the standard library's errors.ErrUnsupported.
	ErrUnsupported  = fmt.Errorf("nvml: %w", errors.ErrUnsupported)
	ErrNoLibrary    = errors.New("no NVIDIA management library")
	ErrNoDriver     = errors.New("NVIDIA driver not loaded")
	ErrMismatch     = errors.New("driver and library versions differ")
	ErrGPULost      = errors.New("GPU is lost")
	ErrNoPermission = errors.New("no permission")
	ErrNoDevice     = errors.New("no such device")
	ErrTimeout      = errors.New("driver did not answer in time")
	ErrClosed       = errors.New("used after close")
)
