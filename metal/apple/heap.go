package apple

import (
	"fmt"
	"sync"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

// Heap is an MTLHeap in shared storage, from which buffers are taken without
// asking the system for memory. Usage counts it as one buffer of its length and
// its buffers not at all; DriverBytes counts it the same way. It is safe for
// concurrent use.
//
// It lives until its owner and the last of its buffers have let go.
type Heap struct {
	device *Device
	object id
	length uint64

	mu   sync.Mutex
	refs command.References
}

// NewHeap allocates a heap of at least length bytes. Errors are those of
// NewBuffer, or match ErrOldSystem.
func (d *Device) NewHeap(length uint64, label string) (*Heap, error) {
	if err := d.ledger.Reserve(length); err != nil {
		return nil, fmt.Errorf("new heap %q: %w", label, err)
	}
	h := &Heap{device: d, length: length}
	var err error
	d.objc.do(func() { err = h.make(label) })
	if err != nil {
		return nil, fmt.Errorf("new heap %q: %w", label, d.ledger.Refused(length, err))
	}
	return h, nil
}

// make asks the system, in a transaction. Hazards are tracked, as they are
// between buffers of their own.
func (h *Heap) make(label string) error {
	o := h.device.objc
	if err := h.device.require("device", h.device.device, []selector{selNewHeap, selHeapRoom}); err != nil {
		return err
	}
	descriptor := o.new("MTLHeapDescriptor")
	if descriptor == 0 {
		return &Error{Op: "make a heap", Text: "there is no class MTLHeapDescriptor", Hint: "update macOS",
			is: ErrOldSystem}
	}
	defer o.release(descriptor)
	if err := h.device.require("heap descriptor", descriptor, []selector{selSetHazards}); err != nil {
		return err // since macOS 10.15
	}
	o.send(descriptor, selSetSize, uintptr(h.length))
	o.send(descriptor, selSetStorage, storageShared)
	o.send(descriptor, selSetHazards, hazardTracked)
	h.object = id(o.send(h.device.device, selNewHeap, uintptr(descriptor)))
	if h.object == 0 {
		return command.NoMemory("Metal made no heap")
	}
	o.label(h.object, label)
	return nil
}

// Room is how many bytes of a heap a buffer of that length takes, and their
// alignment.
func (d *Device) Room(length uint64) (bytes, align uint64) {
	var r sizeAndAlign
	d.objc.do(func() { r = d.objc.pairOf(d.device, d.objc.selectors[selHeapRoom], length, storageShared) })
	return r.Size, r.Align
}

// NewBuffer takes a buffer of the heap; its first contents are undefined. The
// error matches metal.ErrOutOfMemory when there is no room, metal.ErrReleased
// after Release.
func (h *Heap) NewBuffer(length uint64, label string) (metal.Buffer, error) {
	if length == 0 || length > h.length {
		return nil, fmt.Errorf("new buffer %q: length %d in a heap of %d: %w", label, length, h.length,
			metal.ErrInvalid)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refs.Released() {
		return nil, fmt.Errorf("new buffer %q: heap: %w", label, metal.ErrReleased)
	}
	m, err := h.device.allocate(h.object, length, label)
	if err != nil {
		return nil, fmt.Errorf("new buffer %q: in a heap: %w", label, h.device.ledger.Refusal(length, err))
	}
	m.heap = h
	_ = h.refs.Retain() // it is not released, see above
	var takes uint64
	h.device.objc.do(func() { takes = uint64(h.device.objc.send(m.object, selAllocatedSize)) })
	return command.NewPartBuffer(h.device.ledger, length, takes, label, m), nil
}

// HeapUsage is what a heap has, in bytes.
type HeapUsage struct {
	Size      uint64 // what the system made of the length
	Used      uint64 // in buffers
	Available uint64 // the longest buffer that still fits
}

// Usage asks the system; after Release it returns zeros.
func (h *Heap) Usage() HeapUsage {
	h.mu.Lock()
	defer h.mu.Unlock()
	var u HeapUsage
	if h.refs.Released() {
		return u
	}
	o := h.device.objc
	o.do(func() {
		const align = 256
		u.Size, u.Used = uint64(o.send(h.object, selHeapSize)), uint64(o.send(h.object, selHeapUsed))
		u.Available = uint64(o.send(h.object, selHeapAvailable, align))
	})
	return u
}

// SetPurgeable changes the state of the whole heap and returns the old one, as
// metal.Buffer's does; that of its buffers changes nothing.
func (h *Heap) SetPurgeable(s metal.PurgeableState) (old metal.PurgeableState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refs.Released() {
		return 0
	}
	if s < metal.KeepCurrent || s > metal.Empty {
		s = metal.KeepCurrent
	}
	h.device.objc.do(func() {
		old = metal.PurgeableState(h.device.objc.send(h.object, selPurgeable,
			uintptr(s)))
	})
	return old
}

// Release gives the heap up. A second call returns metal.ErrReleased.
func (h *Heap) Release() error {
	h.mu.Lock()
	err := h.refs.Release()
	h.mu.Unlock()
	if err != nil {
		return fmt.Errorf("release heap: %w", err)
	}
	h.drop()
	return nil
}

// drop takes a reference back; with the last the memory goes.
func (h *Heap) drop() {
	h.mu.Lock()
	last := h.refs.Drop()
	h.mu.Unlock()
	if !last {
		return
	}
	o := h.device.objc
	o.do(func() {
		o.send(h.object, selPurgeable, uintptr(metal.Empty))
		o.release(h.object)
	})
	h.device.ledger.Unreserve(h.length)
}
