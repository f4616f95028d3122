package cuda

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
)

const (
	// pageSize is the unit in which buffers ask for memory. The driver's pool
	// charges exactly what it is asked for, so that the sum of AllocatedSize is
	// what it says is used (NVIDIA H200, driver 580).
	pageSize = 512
	// defaultQueueLength is Metal's default of newCommandQueue.
	defaultQueueLength = 64
	// maxName is room for the name of a device.
	maxName = 256
)

// Device is the device. See metal.Device for the contract of its methods.
type Device struct {
	info    metal.Info
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

	mu        sync.Mutex
	budget    uint64
	usage     metal.Usage
	queues    int
	closed    bool
	lost      error // what spoilt the context
	allocated int   // NewBuffer calls that passed the checks, for the faults
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
	if err := d.lib.failure("make the context", d.lib.call(symContextRetain, uintptr(unsafe.Pointer(context)), uintptr(h))); err != nil {
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
	if err := d.lib.failure("read the device's memory", d.lib.call(symDeviceTotal, uintptr(unsafe.Pointer(total)), uintptr(d.handle))); err != nil {
		return err
	}
	if err := d.lib.failure("read the device's name", d.lib.call(symDeviceName, uintptr(unsafe.Pointer(&name[0])), maxName-1, uintptr(d.handle))); err != nil {
		return err
	}
	d.budget = cmp.Or(d.options.WorkingSet, *total)
	d.info = metal.Info{
		Name: cmp.Or(terminated(&name[0]), "NVIDIA"), Driver: "cuda",
		Unified:               d.lib.attribute(d.handle, attributeIntegrated) != 0,
		MaxBufferLength:       min(*total, d.budget),
		RecommendedWorkingSet: d.budget,
		MaxBuffers:            cmp.Or(d.options.MaxBuffers, math.MaxInt32),
		PageSize:              pageSize,
	}
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
func (d *Device) Info() metal.Info { return d.info }

// Usage is what this Device counts; the driver's own books are NVML's.
func (d *Device) Usage() metal.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.usage
}

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
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return fmt.Errorf("close cuda device: %w", metal.ErrReleased)
	}
	var left []string
	for _, kind := range []struct {
		n    int64
		what string
	}{
		{d.usage.Buffers, "buffers"}, {d.usage.CommandBuffers, "command buffers"},
		{d.usage.Pipelines, "pipelines"}, {int64(d.queues), "queues"},
	} {
		if kind.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", kind.n, kind.what))
		}
	}
	if len(left) > 0 {
		d.mu.Unlock()
		return fmt.Errorf("close cuda device: not released: %s: %w", strings.Join(left, ", "), metal.ErrInvalid)
	}
	d.closed = true
	d.mu.Unlock()
	d.thread.close(d.shut)
	return nil
}

// usable reports why nothing can be made any more. The lock is held.
func (d *Device) usable() error {
	switch {
	case d.closed:
		return fmt.Errorf("device: %w", metal.ErrReleased)
	case d.lost != nil:
		return d.lost
	}
	return nil
}

// note remembers an error that spoils the context, and returns it.
func (d *Device) note(err error) error {
	if !errors.Is(err, ErrLost) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost == nil {
		d.lost = err
	}
	return err
}

// count changes the usage under its lock.
func (d *Device) count(f func(*metal.Usage)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.usage)
}

// reserve checks an allocation against the limits and the faults and counts it.
func (d *Device) reserve(length, pages uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	d.allocated++
	if f := d.options.Faults; f.ShrinkAfter > 0 && d.allocated > f.ShrinkAfter {
		d.budget = min(d.budget, f.ShrinkTo)
	}
	refused := &metal.OutOfMemoryError{
		RequestedBytes: length, AllocatedBytes: uint64(d.usage.AllocatedBytes), LimitBytes: d.budget,
		Buffers: int(d.usage.Buffers),
	}
	switch {
	case d.allocated == d.options.Faults.FailAllocation:
		refused.Reason = fmt.Sprintf("planted fault: allocation %d fails", d.allocated)
		return refused
	case d.usage.Buffers >= int64(d.info.MaxBuffers):
		refused.Reason, refused.LimitBytes, refused.MaxBuffers = "too many buffers", 0, d.info.MaxBuffers
		return refused
	case pages > d.budget || uint64(d.usage.AllocatedBytes) > d.budget-pages:
		refused.Reason = "working set is full"
		return refused
	}
	d.usage.AllocatedBytes += int64(pages)
	d.usage.Buffers++
	d.usage.TotalBuffers++
	return nil
}

// unreserve takes a buffer out of the counts.
func (d *Device) unreserve(pages uint64) {
	d.count(func(u *metal.Usage) { u.AllocatedBytes -= int64(pages); u.Buffers-- })
}

// refusal is the driver's refusal of an allocation with what the device holds;
// other errors stay as they are.
func (d *Device) refusal(length, free uint64, err error) error {
	if !errors.Is(err, metal.ErrOutOfMemory) {
		return d.note(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return &metal.OutOfMemoryError{
		RequestedBytes: length, AllocatedBytes: uint64(d.usage.AllocatedBytes), LimitBytes: d.budget,
		Buffers: int(d.usage.Buffers), Reason: fmt.Sprintf("%v; the driver has %d B free", err, free),
	}
}

// rest gives freed memory back to the driver.
func (d *Device) rest() { d.memory.rest() }
