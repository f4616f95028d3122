package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

const (
	// pageSize is the unit in which buffers ask for memory. The driver's pool
	// charges exactly what it is asked for, so that the sum of AllocatedSize is
	// what it says is used (NVIDIA H200, driver 580).
	pageSize = 512
	// maxName is room for the name of a device.
	maxName = 256
)

// Device is the device. See metal.Device for the contract of its methods.
type Device struct {
	ledger  *command.Ledger // made by the thread before Open returns
	options Options
	lib     *library
	thread  *thread

	// Of the thread alone.
	handle  int32
	memory  memory
	module  uintptr
	active  []*queue  // with work in flight
	events  []uintptr // to be used again
	streams []uintptr // to be used again
	scratch *arguments
}

var _ metal.Device = (*Device)(nil)

// Check reports why Open would not find the device: an error that matches
// ErrNoDriver or ErrNoDevice, else nil. It makes no context, so that it costs no
// memory of the device.
func Check(o Options) error {
	l, err := load(o.Library)
	if err != nil {
		return err
	}
	_, err = l.device(o.Device)
	return err
}

// Open opens a device. Two Devices share the driver's context of this process,
// nothing else. Errors match ErrNoDriver, ErrNoDevice, or metal.ErrInvalid for
// options that contradict each other.
func Open(o Options) (*Device, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	l, err := load(o.Library)
	if err != nil {
		return nil, err
	}
	d := &Device{options: o, lib: l, thread: newThread(), scratch: new(arguments)}
	go d.thread.run(d)
	opened := make(chan error, 1)
	d.thread.post(func() { opened <- d.open() })
	if err := <-opened; err != nil {
		d.thread.close(func() {})
		return nil, err
	}
	return d, nil
}

// open makes the thread the device's.
func (d *Device) open() error {
	h, err := d.lib.device(d.options.Device)
	if err != nil {
		return err
	}
	d.handle = h
	if err := d.describe(); err != nil {
		return err
	}
	context := new(uintptr)
	if err := d.lib.failure("make the context",
		d.lib.call(symContextRetain, uintptr(unsafe.Pointer(context)), uintptr(h))); err != nil {
		return err
	}
	err = d.lib.failure("make the context current", d.lib.call(symContextSet, *context))
	if err == nil {
		d.memory = memory{lib: d.lib, keep: d.options.KeepBytes, large: map[uintptr]bool{}}
		pools := !d.options.PlainAllocations && d.lib.hasPools() && d.lib.attribute(h, attributePools) != 0
		err = d.memory.open(h, pools)
	}
	if err == nil {
		err = d.warm()
	}
	if err != nil {
		d.shut()
	}
	return err
}

func (d *Device) describe() error {
	total, name := new(uint64), make([]byte, maxName)
	if err := d.lib.failure("read the device's memory",
		d.lib.call(symDeviceTotal, uintptr(unsafe.Pointer(total)), uintptr(d.handle))); err != nil {
		return err
	}
	if err := d.lib.failure("read the device's name",
		d.lib.call(symDeviceName, uintptr(unsafe.Pointer(&name[0])), maxName-1,
			uintptr(d.handle))); err != nil {
		return err
	}
	budget := cmp.Or(d.options.WorkingSet, *total)
	d.ledger = command.NewLedger(metal.Info{
		Name: cmp.Or(terminated(&name[0]), "NVIDIA"), Driver: "cuda",
		Unified:               d.lib.attribute(d.handle, attributeIntegrated) != 0,
		MaxBufferLength:       min(*total, budget),
		RecommendedWorkingSet: budget,
		MaxBuffers:            cmp.Or(d.options.MaxBuffers, math.MaxInt32),
		PageSize:              pageSize,
	}, d.options.Faults)
	return nil
}

// shut gives the context back. It is the thread's last task.
func (d *Device) shut() {
	for _, e := range d.events {
		d.lib.call(symEventDestroy, e)
	}
	for _, s := range d.streams {
		d.lib.call(symStreamDestroy, s)
	}
	if d.module != 0 {
		d.lib.call(symModuleUnload, d.module)
	}
	d.memory.close()
	d.lib.call(symContextSet, 0)
	d.lib.call(symContextRelease, uintptr(d.handle))
}

// Info describes the device.
func (d *Device) Info() metal.Info { return d.ledger.Info() }

// Usage is what this Device counts; the driver's own books are NVML's.
func (d *Device) Usage() metal.Usage { return d.ledger.Usage() }

// Autorelease runs f: this driver makes no temporaries.
func (d *Device) Autorelease(f func()) { f() }

// Reserved is what the memory pool charges for the existing small buffers and
// one page of the Device's own, and what it holds of the device's memory; the
// difference is idle in the driver. The error matches metal.ErrUnsupported when
// buffers come from no pool.
func (d *Device) Reserved() (used, reserved uint64, err error) {
	if d.memory.pool == 0 {
		return 0, 0, fmt.Errorf("read the memory pool: there is none: %w", metal.ErrUnsupported)
	}
	if !d.thread.do(func() { used, reserved, err = d.memory.figures() }) {
		err = fmt.Errorf("read the memory pool: device: %w", metal.ErrReleased)
	}
	return used, reserved, err
}

// Close gives the device up. It returns an error matching metal.ErrInvalid
// that names what was not released; then the device stays open.
func (d *Device) Close() error {
	if err := d.ledger.Close(); err != nil {
		return err
	}
	d.thread.close(d.shut)
	return nil
}

// note remembers an error that spoils the context, and returns it.
func (d *Device) note(err error) error {
	if errors.Is(err, ErrLost) {
		d.ledger.Lose(err)
	}
	return err
}

// refusal is the driver's refusal of an allocation with what it has free; other
// errors stay as they are.
func (d *Device) refusal(free uint64, err error) error {
	if !errors.Is(err, metal.ErrOutOfMemory) {
		return d.note(err)
	}
	return command.NoMemory(fmt.Sprintf("%v; the driver has %d B free", err, free))
}

// rest gives freed memory back to the driver.
func (d *Device) rest() { d.memory.rest() }
