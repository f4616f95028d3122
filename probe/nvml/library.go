package nvml

import (
	"sync"
	"time"

	"github.com/gpumem/gpumem/probe/source"
)

// driver answers the questions of a Library; one implementation loads the
// library, one runs nvidia-smi. Implementations are safe for concurrent use.
type driver interface {
	count() int
	version() string
	device(i int) Device
	// processes appends what device i charges processes, merged.
	processes(i int, dst []Process) ([]Process, error)
	peaks(i int) ([]Peak, error)
	vitals() []source.Vitals
	close() error
}

// Library is an open management library. It is safe for concurrent use.
// Close it when done; the devices' memory is not affected by either.
type Library struct {
	mu      sync.RWMutex
	d       driver // nil after Close
	options Options
	limits  []string
	// foreign is true where PIDs that the driver lists may belong to another
	// namespace than ours, so that an unlisted PID proves nothing.
	foreign bool
}

// Open loads the library and starts it. The error is an *Error, one line
// that says what to try; errors.Is tells its kind: ErrNoLibrary and
// ErrUnsupported where there is nothing to load, ErrNoDriver, ErrMismatch and
// ErrNoPermission where there is. A machine with the driver but without a
// device opens and has no devices.
func Open(o Options) (*Library, error) {
	d, err := openDriver(o)
	if err != nil {
		return nil, err
	}
	l := &Library{d: d, options: o}
	l.limits, l.foreign = surroundings(o.Root)
	return l, nil
}

// Close ends the use of the library; later calls fail with ErrClosed. It
// waits for calls under way, but no longer than the timeout of the options: a
// library whose driver is stuck stays loaded, and Close says so.
func (l *Library) Close() error {
	deadline := time.Now().Add(l.timeout())
	for !l.mu.TryLock() {
		if time.Now().After(deadline) {
			return &Error{Op: "stop the library", Device: -1, is: ErrTimeout,
				Text: "a call is still under way"}
		}
		time.Sleep(time.Millisecond)
	}
	defer l.mu.Unlock()
	if l.d == nil {
		return nil
	}
	d := l.d
	l.d = nil
	return d.close()
}

func (l *Library) timeout() time.Duration {
	if l.options.Timeout > 0 {
		return l.options.Timeout
	}
	return DefaultTimeout
}

// DriverVersion is the kernel driver's version, empty when unknown.
func (l *Library) DriverVersion() string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.d == nil {
		return ""
	}
	return l.d.version()
}

// Count is the number of devices, 0 after Close.
func (l *Library) Count() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.d == nil {
		return 0
	}
	return l.d.count()
}

// Devices describes every device anew; figures that a device does not give
// are Unknown and explained in its notes, so a device that is lost is listed
// as well.
func (l *Library) Devices() []Device {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.d == nil {
		return nil
	}
	list := make([]Device, l.d.count())
	for i := range list {
		list[i] = l.d.device(i)
	}
	return list
}

// Processes lists what a device charges which process: one entry for each
// process and MIG instance, in the driver's order.
func (l *Library) Processes(device int) ([]Process, error) {
	return l.appendProcesses(device, nil)
}

func (l *Library) appendProcesses(device int, dst []Process) ([]Process, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.check("list processes", device); err != nil {
		return dst, err
	}
	return l.d.processes(device, dst)
}

// Peaks returns the driver's accounting of a device: each process's greatest
// use over its whole life, also of processes that have ended, as long as the
// driver's ring keeps them. It fails with ErrUnsupported where accounting is
// off; root turns it on with nvidia-smi --accounting-mode=1.
func (l *Library) Peaks(device int) ([]Peak, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.check("read the accounting", device); err != nil {
		return nil, err
	}
	return l.d.peaks(device)
}

// Limits are sentences about what cannot be known in these surroundings: in
// a container, under WSL. Empty when nothing limits.
func (l *Library) Limits() []string { return append([]string(nil), l.limits...) }

// check refuses a closed library and an index out of range. The caller holds
// the lock.
func (l *Library) check(op string, device int) error {
	if l.d == nil {
		return &Error{Op: op, Device: device, Text: ErrClosed.Error(), is: ErrClosed}
	}
	if n := l.d.count(); device < 0 || device >= n {
		return noSuchDevice(op, device, n)
	}
	return nil
}
