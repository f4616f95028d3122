package apple

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

// memory is an MTLBuffer in shared storage.
type memory struct {
	device *Device
	object id
	bytes  []byte
	heap   *Heap // that it lies in, else nil
	// writers is how many dispatches write it that are encoded and not known
	// to have completed: until then the host does not know its contents.
	writers atomic.Int64
}

// Bytes is the memory, of the buffer's length.
func (m *memory) Bytes() []byte { return m.bytes }

// SetPurgeable passes the state on. In a heap it is the whole heap's.
func (m *memory) SetPurgeable(s metal.PurgeableState) {
	if m.heap != nil {
		return
	}
	m.device.objc.do(func() { m.device.objc.send(m.object, selPurgeable, uintptr(s)) })
}

// Free empties the buffer, so that its pages go even if something of the
// system's still holds the object, and releases it.
func (m *memory) Free() error {
	o := m.device.objc
	o.do(func() {
		if m.heap == nil {
			o.send(m.object, selPurgeable, uintptr(metal.Empty))
		}
		o.release(m.object)
	})
	m.bytes = nil
	if m.heap != nil {
		m.heap.drop()
	}
	return nil
}

// NewBuffer allocates zeroed shared memory.
func (d *Device) NewBuffer(length uint64, label string) (metal.Buffer, error) {
	b, err := command.NewHostBuffer(d.ledger, length, label, func(uint64) (command.HostMemory, error) {
		return d.allocate(d.device, length, label)
	})
	if err != nil {
		return nil, err // not a nil *HostBuffer in the interface
	}
	return b, nil
}

// allocate makes an MTLBuffer by the device or a heap.
func (d *Device) allocate(from id, length uint64, label string) (*memory, error) {
	m := &memory{device: d}
	var address uintptr
	var driver uint64
	o := d.objc
	o.do(func() {
		m.object = id(o.send(from, selNewBuffer, uintptr(length), storageShared))
		if m.object == 0 {
			driver = uint64(o.send(d.device, selAllocated))
			return
		}
		if address = o.send(m.object, selContents); address == 0 {
			o.release(m.object)
			return
		}
		o.label(m.object, label)
	})
	switch {
	case m.object == 0:
		return nil, command.NoMemory(
			fmt.Sprintf("Metal made no buffer; its driver has allocated %d B for this process", driver))
	case address == 0:
		return nil, &Error{Op: "map a buffer", Text: fmt.Sprintf("Metal shows no memory of %d B", length),
			is: metal.ErrUnsupported}
	}
	m.bytes = unsafe.Slice((*byte)(pointer(address)), length)
	return m, nil
}
