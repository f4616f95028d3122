package command

import (
	"fmt"
	"io"
	"sync"

	"github.com/gpumem/gpumem/metal"
)

// HostMemory is a driver's memory of one buffer that the host can address.
// HostBuffer calls it under its lock.
type HostMemory interface {
	// Bytes is the memory, at least as long as the buffer.
	Bytes() []byte
	// SetPurgeable applies NonVolatile, Volatile or Empty.
	SetPurgeable(metal.PurgeableState)
	// Free gives the memory back; it is the last call.
	Free() error
}

// HostBuffer is a metal.Buffer in memory that the host can address. The owner
// holds one reference and each command buffer that uses it another; the memory
// goes with the last.
type HostBuffer struct {
	ledger    *Ledger
	length    uint64
	allocated uint64
	part      bool // of memory that is counted as a whole
	label     string

	mu     sync.RWMutex // held for reading while memory is copied
	memory HostMemory
	refs   References
	state  metal.PurgeableState
}

// NewHostBuffer makes a buffer of the memory that allocate returns; bytes is
// the length in whole pages. An error of allocate takes it out of the counts.
func NewHostBuffer(l *Ledger, length uint64, label string,
	allocate func(bytes uint64) (HostMemory, error)) (*HostBuffer, error) {
	if err := l.Reserve(length); err != nil {
		return nil, fmt.Errorf("new buffer %q: %w", label, err)
	}
	memory, err := allocate(l.Pages(length))
	if err != nil {
		return nil, fmt.Errorf("new buffer %q: %w", label, l.Refused(length, err))
	}
	return &HostBuffer{
		ledger: l, length: length, allocated: l.Pages(length), label: label,
		memory: memory, state: metal.NonVolatile,
	}, nil
}

// NewPartBuffer makes a buffer that takes allocated bytes of memory which the
// ledger counts as a whole; the buffer itself is not counted.
func NewPartBuffer(l *Ledger, length, allocated uint64, label string, memory HostMemory) *HostBuffer {
	return &HostBuffer{
		ledger: l, length: length, allocated: allocated, part: true, label: label,
		memory: memory, state: metal.NonVolatile,
	}
}

// Ledger is the device's.
func (b *HostBuffer) Ledger() *Ledger { return b.ledger }

// Memory is the driver's, for as long as a reference is held.
func (b *HostBuffer) Memory() HostMemory { return b.memory }

// Length is what was asked for.
func (b *HostBuffer) Length() uint64 { return b.length }

// AllocatedSize is Length in whole pages, or what a part takes.
func (b *HostBuffer) AllocatedSize() uint64 { return b.allocated }

// Label is the name that the buffer was made with.
func (b *HostBuffer) Label() string { return b.label }

// Contents is the memory itself.
func (b *HostBuffer) Contents() []byte {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.refs.Released() {
		return nil
	}
	return b.memory.Bytes()[:b.length:b.length]
}

// ReadAt copies out of the buffer, as io.ReaderAt.
func (b *HostBuffer) ReadAt(p []byte, offset int64) (int, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	from, err := b.at("read", offset)
	if err != nil {
		return 0, err
	}
	n := copy(p, from)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt copies into the buffer, as io.WriterAt.
func (b *HostBuffer) WriteAt(p []byte, offset int64) (int, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	to, err := b.at("write", offset)
	if err != nil {
		return 0, err
	}
	n := copy(to, p)
	if n < len(p) {
		return n, fmt.Errorf("write buffer %q: %d B at %d of %d: %w", b.label, len(p), offset, b.length,
			io.ErrShortWrite)
	}
	return n, nil
}

// at is the memory from offset on. The lock is held.
func (b *HostBuffer) at(what string, offset int64) ([]byte, error) {
	switch {
	case b.refs.Released():
		return nil, fmt.Errorf("%s buffer %q: %w", what, b.label, metal.ErrReleased)
	case offset < 0:
		return nil, fmt.Errorf("%s buffer %q: offset %d: %w", what, b.label, offset, metal.ErrInvalid)
	case uint64(offset) >= b.length:
		return nil, nil
	}
	return b.memory.Bytes()[offset:b.length], nil
}

// SetPurgeable changes the state.
func (b *HostBuffer) SetPurgeable(s metal.PurgeableState) metal.PurgeableState {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.state
	if b.refs.Released() || s < metal.NonVolatile || s > metal.Empty {
		return old
	}
	b.state = s
	b.memory.SetPurgeable(s)
	return old
}

// Release gives the owner's reference up.
func (b *HostBuffer) Release() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refs.Release(); err != nil {
		return fmt.Errorf("release buffer %q: %w", b.label, err)
	}
	return b.unref()
}

// Retain adds a command buffer's reference.
func (b *HostBuffer) Retain() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.refs.Retain(); err != nil {
		return fmt.Errorf("buffer %q: %w", b.label, err)
	}
	return nil
}

// Drop takes a reference back.
func (b *HostBuffer) Drop() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unref()
}

// Settle is Drop.
func (b *HostBuffer) Settle() error { return b.Drop() }

// unref drops a reference and gives the memory back with the last. The lock is
// held.
func (b *HostBuffer) unref() error {
	if !b.refs.Drop() {
		return nil
	}
	err := b.memory.Free()
	if !b.part {
		b.ledger.Unreserve(b.length)
	}
	if err != nil {
		return fmt.Errorf("release buffer %q: %w", b.label, err)
	}
	return nil
}
