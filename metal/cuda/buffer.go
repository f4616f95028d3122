package cuda

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

// shadowLength is the longest buffer with a shadow.
const shadowLength = 256

// copyPart is copied at a time, so that other work gets its turn between.
const copyPart = 32 << 20

// buffer is an allocation. The owner holds one reference, each command buffer
// that uses it and each copy another; the memory goes with the last.
//
// The lock is never held while the device's thread is waited for, since that
// takes it.
type buffer struct {
	device *Device
	length uint64
	label  string

	// shadow is a copy of a small buffer's bytes, nil while they are not known,
	// of the device's thread alone. Parameters of kernels lie in such buffers;
	// reading them from the device would wait for all work before.
	shadow []byte

	mu      sync.Mutex
	address uintptr // 0: emptied
	refs    command.References
	discard bool // the memory goes when only one reference is left
	state   metal.PurgeableState
}

// NewBuffer allocates device memory. Its first contents are undefined.
func (d *Device) NewBuffer(length uint64, label string) (metal.Buffer, error) {
	b := &buffer{device: d, length: length, label: label, state: metal.NonVolatile}
	if err := d.ledger.Reserve(length); err != nil {
		return nil, fmt.Errorf("new buffer %q: %w", label, err)
	}
	var err error
	var free uint64
	if !d.thread.do(func() {
		if b.address, err = d.memory.get(b.AllocatedSize()); err != nil {
			free = d.memory.free()
		}
	}) {
		err = fmt.Errorf("device: %w", metal.ErrReleased)
	}
	if err != nil {
		return nil, fmt.Errorf("new buffer %q: %w", label, d.ledger.Refused(length, d.refusal(free, err)))
	}
	return b, nil
}

// Ledger is the device's.
func (b *buffer) Ledger() *command.Ledger { return b.device.ledger }

func (b *buffer) Length() uint64        { return b.length }
func (b *buffer) AllocatedSize() uint64 { return b.device.ledger.Pages(b.length) }
func (b *buffer) Label() string         { return b.label }

// Contents is nil: the host cannot address the memory.
func (b *buffer) Contents() []byte { return nil }

// ReadAt copies out of the buffer, as io.ReaderAt.
func (b *buffer) ReadAt(p []byte, offset int64) (int, error) {
	n, err := b.copy("read", p, offset, func(m *memory, part []byte, address uintptr) error {
		return m.read(part, address)
	})
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// WriteAt copies into the buffer, as io.WriterAt.
func (b *buffer) WriteAt(p []byte, offset int64) (int, error) {
	n, err := b.copy("write", p, offset, func(m *memory, part []byte, address uintptr) error {
		b.follow(part, offset)
		return m.write(address, part)
	})
	if err == nil && n < len(p) {
		err = fmt.Errorf("write buffer %q: %d B at %d of %d: %w", b.label, len(p), offset, b.length,
			io.ErrShortWrite)
	}
	return n, err
}

// follow keeps the shadow up with a write. Only the device's thread calls it.
func (b *buffer) follow(p []byte, offset int64) {
	switch {
	case b.length > shadowLength:
	case uint64(len(p)) == b.length:
		b.shadow = bytes.Clone(p)
	case b.shadow != nil:
		copy(b.shadow[offset:], p)
	}
}

// copy moves what lies within the buffer and says how much that was.
func (b *buffer) copy(what string, p []byte, offset int64, move func(*memory, []byte, uintptr) error) (n int,
	err error) {
	if err := b.Retain(); err != nil {
		return 0, fmt.Errorf("%s %w", what, err)
	}
	defer b.Drop()
	switch {
	case offset < 0:
		return 0, fmt.Errorf("%s buffer %q: offset %d: %w", what, b.label, offset, metal.ErrInvalid)
	case uint64(offset) >= b.length || len(p) == 0:
		return 0, nil
	}
	p = p[:min(uint64(len(p)), b.length-uint64(offset))]
	for n < len(p) && err == nil {
		part := p[n:min(n+copyPart, len(p))]
		if !b.device.thread.do(func() {
			var address uintptr
			if address, err = b.memory(); err == nil {
				err = move(&b.device.memory, part, address+uintptr(offset)+uintptr(n))
			}
		}) {
			err = fmt.Errorf("device: %w", metal.ErrReleased)
		}
		if err != nil {
			return n, fmt.Errorf("%s buffer %q: %w", what, b.label, b.device.note(err))
		}
		n += len(part)
	}
	return n, nil
}

// memory is the address, with new memory for an emptied buffer. Only the
// device's thread calls it.
func (b *buffer) memory() (uintptr, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.address != 0 {
		return b.address, nil
	}
	address, err := b.device.memory.get(b.AllocatedSize())
	if err != nil {
		err = b.device.ledger.Refusal(b.length, b.device.refusal(b.device.memory.free(), err))
		return 0, fmt.Errorf("buffer %q was emptied: %w", b.label, err)
	}
	b.address, b.shadow = address, nil
	return address, nil
}

// SetPurgeable changes the state; Empty gives the memory back to the driver now,
// or when the work that uses it has completed.
func (b *buffer) SetPurgeable(s metal.PurgeableState) metal.PurgeableState {
	b.mu.Lock()
	old := b.state
	if b.refs.Released() || s < metal.NonVolatile || s > metal.Empty {
		b.mu.Unlock()
		return old
	}
	b.state, b.discard = s, s == metal.Empty
	address := b.discarded()
	b.mu.Unlock()
	if address != 0 {
		_ = b.device.put(address) // nobody can do anything about it
	}
	return old
}

// discarded takes the memory out of an emptied buffer that only its owner
// holds. The lock is held.
func (b *buffer) discarded() uintptr {
	if !b.discard || b.refs.Shared() {
		return 0
	}
	address := b.address
	b.address, b.discard = 0, false
	return address
}

// put gives memory back from any goroutine but the device's thread.
func (d *Device) put(address uintptr) (err error) {
	if !d.thread.do(func() {
		if err = d.memory.put(address); d.thread.quiet() {
			d.memory.rest() // so that the last of a run of releases returns when the memory is back
		}
	}) {
		return fmt.Errorf("device: %w", metal.ErrReleased)
	}
	return d.note(err)
}

// Release gives the owner's reference up.
func (b *buffer) Release() error {
	b.mu.Lock()
	err := b.refs.Release()
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("release buffer %q: %w", b.label, err)
	}
	return b.Drop()
}

// Retain adds the reference of a command buffer or a copy.
func (b *buffer) Retain() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refs.Retain(); err != nil {
		return fmt.Errorf("buffer %q: %w", b.label, err)
	}
	return nil
}

// Drop takes a reference back on any goroutine but the device's thread.
func (b *buffer) Drop() error { return b.unref(b.device.put) }

// Settle takes a reference back on the device's thread.
func (b *buffer) Settle() error { return b.unref(b.device.memory.put) }

// unref takes a reference back; with the last the memory goes, through put, and
// then the buffer leaves the counts.
func (b *buffer) unref(put func(uintptr) error) error {
	b.mu.Lock()
	last := b.refs.Drop()
	address := b.address
	if last {
		b.address = 0
	} else {
		address = b.discarded()
	}
	b.mu.Unlock()
	var err error
	if address != 0 {
		err = put(address)
	}
	if last {
		b.device.ledger.Unreserve(b.length)
	}
	if err != nil {
		return fmt.Errorf("release buffer %q: %w", b.label, err)
	}
	return nil
}
