package apple

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

// ResidencySet is an MTLResidencySet (macOS 15): buffers that the system keeps
// where the GPU reaches them. It is safe for concurrent use.
//
// The set holds its members until they are removed and the change is
// committed: a buffer that was released meanwhile is out of Usage, but not out
// of DriverBytes.
type ResidencySet struct {
	device *Device
	object id

	mu       sync.Mutex
	members  map[metal.Buffer]id // as they will be after a commit
	released bool
}

// NewResidencySet makes an empty set. The error matches ErrOldSystem where the
// system has none.
func (d *Device) NewResidencySet(label string) (*ResidencySet, error) {
	r := &ResidencySet{device: d, members: map[metal.Buffer]id{}}
	err := d.ledger.Usable()
	if err == nil {
		d.objc.do(func() { err = r.make(label) })
	}
	if err != nil {
		return nil, fmt.Errorf("new residency set %q: %w", label, err)
	}
	return r, nil
}

// make asks the system, in a transaction.
func (r *ResidencySet) make(label string) error {
	o := r.device.objc
	if err := r.device.require("device", r.device.device, []selector{selNewResidency}); err != nil {
		return err
	}
	descriptor := o.new("MTLResidencySetDescriptor")
	if descriptor == 0 {
		return &Error{Op: "make a residency set", Text: "there is no class MTLResidencySetDescriptor",
			Hint: "update macOS", is: ErrOldSystem}
	}
	defer o.release(descriptor)
	o.label(descriptor, label)
	why := new(id)
	r.object = id(o.send(r.device.device, selNewResidency, uintptr(descriptor), uintptr(unsafe.Pointer(why))))
	if r.object == 0 {
		return r.device.refused("make a residency set", *why, metal.ErrOutOfMemory)
	}
	return nil
}

// Add makes a buffer of the device a member, from the next Commit on.
func (r *ResidencySet) Add(b metal.Buffer) error {
	ours, ok := b.(*command.HostBuffer)
	if !ok || ours.Ledger() != r.device.ledger {
		return fmt.Errorf("add to a residency set: no buffer of this device: %w", metal.ErrInvalid)
	}
	if err := ours.Retain(); err != nil {
		return fmt.Errorf("add to a residency set: %w", err)
	}
	object := ours.Memory().(*memory).object
	err := r.message("add to", func(o *objc) {
		if _, member := r.members[b]; !member {
			r.members[b] = object
			o.send(r.object, selAdd, uintptr(object))
		}
	})
	if dropped := ours.Drop(); err == nil {
		err = dropped
	}
	return err
}

// Remove takes a buffer out, from the next Commit on; it may have been
// released. What is no member stays none.
func (r *ResidencySet) Remove(b metal.Buffer) error {
	return r.message("remove from", func(o *objc) {
		if object, member := r.members[b]; member {
			delete(r.members, b)
			o.send(r.object, selRemove, uintptr(object))
		}
	})
}

// Commit makes the changes since the last one effective.
func (r *ResidencySet) Commit() error {
	return r.message("commit", func(o *objc) { o.send(r.object, selCommit) })
}

// Request asks for residency now; the system wires the memory.
func (r *ResidencySet) Request() error {
	return r.message("request", func(o *objc) { o.send(r.object, selRequest) })
}

// End takes Request back.
func (r *ResidencySet) End() error {
	return r.message("end", func(o *objc) { o.send(r.object, selEnd) })
}

// Attach lets every command buffer of a queue of the device use the set, until
// Detach or the queue's release.
func (r *ResidencySet) Attach(q metal.Queue) error { return r.queue("attach", q, selAddSet) }

// Detach takes Attach back.
func (r *ResidencySet) Detach(q metal.Queue) error { return r.queue("detach", q, selRemoveSet) }

func (r *ResidencySet) queue(what string, q metal.Queue, s selector) error {
	foreign := fmt.Errorf("%s a residency set: no queue of this device: %w", what, metal.ErrInvalid)
	made, ok := q.(*command.Queue)
	if !ok {
		return foreign
	}
	var err error
	used := made.Use(func(d command.Driver) {
		ours, ok := d.(*queue)
		if !ok || ours.device != r.device {
			err = foreign
			return
		}
		err = r.message(what, func(o *objc) { o.send(ours.object, s, uintptr(r.object)) })
	})
	if used != nil {
		return fmt.Errorf("%s a residency set: %w", what, used)
	}
	return err
}

// AllocatedBytes is what the committed members have, by the system.
func (r *ResidencySet) AllocatedBytes() (bytes uint64, err error) {
	err = r.message("read", func(o *objc) { bytes = uint64(o.send(r.object, selAllocatedSize)) })
	return bytes, err
}

// Release gives the set up, and with it what it holds.
func (r *ResidencySet) Release() error {
	return r.message("release", func(o *objc) {
		r.released = true
		o.release(r.object)
	})
}

// message runs f in a transaction unless the set was released.
func (r *ResidencySet) message(what string, f func(*objc)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.released {
		return fmt.Errorf("%s a residency set: %w", what, metal.ErrReleased)
	}
	r.device.objc.do(func() { f(r.device.objc) })
	return nil
}
