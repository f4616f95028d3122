// Package source has the types that every source of GPU bytes shares: what a
// source is, what it says of devices and what it charges processes with. Users
// know them by their names in package probe; they stand apart because package
// probe itself reads macOS through one of the sources.
//
// # How figures are put together
//
// There is one rule. A sum of which a part is unknown is unknown ([Add]): the
// parts of a split device, the processes of a device, the sources that charge a
// process again and again. Of two sources that tell of the same device the
// greater figure counts ([Greater]): they describe the same bytes, so adding
// them would count twice. A kind of memory that a device does not have is no
// part: [Charge.Bytes] is what is told of the device's own memory and the host's.
package source

import (
	"context"
	"time"
)

// Unknown stands for a number that nobody told. It is never 0.
const Unknown int64 = -1

// AnyDevice is the device of a charge that says: the source cannot tell what its
// devices hold for the process. Its bytes are Unknown.
const AnyDevice = -1

// Source tells what GPUs hold for processes: one driver, or one interface of the
// kernel. It is safe for concurrent use. Close it when done; closing it twice is
// no error, and after Close everything is unknown.
//
// Devices have the numbers of the source's own list, from 0. A process that a
// source charges with nothing holds nothing there, unless the source says
// AnyDevice of it.
type Source interface {
	// Name is the source's name in a word.
	Name() string
	// Devices are the devices with what they hold now: always the same ones in
	// the same order. One that does not answer has unknown figures and a note
	// that says why. When ctx is done a driver that does not answer is given up.
	Devices(ctx context.Context) []Device
	// Charges is what the devices hold, for everybody. pids are the processes
	// here, for a source that must be asked of each.
	Charges(ctx context.Context, pids []int) Holdings
	// Reader asks for few processes again and again.
	Reader() Reader
	// Limits are sentences about what cannot be known here.
	Limits() []string
	Close() error
}

// Reader asks again and again what devices hold for a few processes: the same
// ones mostly, which makes it cheap. It belongs to one goroutine; close it when
// done, before its source.
type Reader interface {
	// Read appends the charges of the processes to dst and returns it. The error,
	// in one line, is why some of it is missing; the charges beside it hold.
	Read(pids []int, dst []Charge) ([]Charge, error)
	Close()
}

// Charge is what one device holds for one process. Bytes not known are Unknown.
type Charge struct {
	PID    int
	Device int // in the list of who tells it; AnyDevice
	// LocalBytes is the device's own memory, HostBytes memory of the host that
	// the device uses (all there is on integrated GPUs).
	LocalBytes int64
	HostBytes  int64
	// Shared is set when another process holds some of the same buffers.
	Shared bool
	// Clients is how many connections to the device the process has, 0 where
	// that is not told; Busy how long the device worked for them, Unknown (-1)
	// when not told. They are Apple's only; also of processes whose bytes are
	// not known.
	Clients int
	Busy    time.Duration
}

// Untold is the charge of a process of which a source can tell nothing.
func Untold(pid int) Charge {
	return Charge{PID: pid, Device: AnyDevice, LocalBytes: Unknown, HostBytes: Unknown}
}

// Bytes is LocalBytes and HostBytes together, Unknown when neither is known.
func (c Charge) Bytes() int64 {
	switch {
	case c.LocalBytes == Unknown:
		return c.HostBytes
	case c.HostBytes == Unknown:
		return c.LocalBytes
	}
	return c.LocalBytes + c.HostBytes
}

// Merge is what two sources together say of one process on one device.
func (c Charge) Merge(other Charge) Charge {
	c.LocalBytes = Greater(c.LocalBytes, other.LocalBytes)
	c.HostBytes = Greater(c.HostBytes, other.HostBytes)
	c.Shared = c.Shared || other.Shared
	if c.Clients == 0 {
		c.Clients, c.Busy = other.Clients, other.Busy
	}
	return c
}

// Add adds parts of one figure: Unknown unless both are known.
func Add(a, b int64) int64 {
	if a == Unknown || b == Unknown {
		return Unknown
	}
	return a + b
}

// Greater is what two tellers of the same bytes say: Unknown when neither knows.
func Greater(a, b int64) int64 { return max(a, b) }

// Holdings is what the devices of a source hold, for whomever.
type Holdings struct {
	// Charges has each process at most once a device.
	Charges []Charge
	// Outer are charges of pids that are known to be of another pid namespace.
	Outer []Charge
	// Devices are the sums, one for each device of the source.
	Devices []Held
	// Warnings are what went wrong, one line each.
	Warnings []string
}

// Held is what one device holds.
type Held struct {
	// Bytes is the sum over all processes, each buffer once where the driver
	// tells; Unknown when a figure is missing.
	Bytes int64
	// Silent is set when the device did not answer: nothing is known of it.
	Silent bool
	Parts  []Part // of a split device, those that hold something
	// MPSClients is how many processes use it through NVIDIA's multi-process
	// service.
	MPSClients int
}

// Part is what one part of a split device holds.
type Part struct {
	GPU, Compute int
	Bytes        int64
}
