package soft

import (
	"fmt"
	"io"
	"sync"

	"github.com/gpumem/gpumem/metal"
)

// buffer is a region of the store. The owner holds one reference and each command buffer
// that uses it another; the memory goes with the last.
type buffer struct {
	device *Device
	length uint64
	label  string

	mu       sync.RWMutex // held for reading while memory is copied
	region                // whole pages; without memory once given back
	refs     int
	released bool // by the owner
	state    metal.PurgeableState
}

// NewBuffer takes length zeroed bytes of the store; the pages become resident when touched.
func (d *Device) NewBuffer(length uint64, label string) (metal.Buffer, error) {
	if length == 0 || length > d.info.MaxBufferLength {
		return nil, fmt.Errorf("new buffer %q: length %d, allowed 1 to %d: %w", label, length, d.info.MaxBufferLength, metal.ErrInvalid)
	}
	pages := (length + pageSize - 1) &^ (pageSize - 1)
	if err := d.reserve(length, pages); err != nil {
		return nil, fmt.Errorf("new buffer %q: %w", label, err)
	}
	r, err := d.store.get(int(pages))
	if err != nil {
		d.count(func(u *metal.Usage) { u.TotalBuffers-- })
		d.unreserve(pages)
		return nil, fmt.Errorf("new buffer %q: map %d B: %w: %w", label, pages, metal.ErrOutOfMemory, err)
	}
	return &buffer{device: d, length: length, label: label, region: r, refs: 1, state: metal.NonVolatile}, nil
}

func (b *buffer) Length() uint64        { return b.length }
func (b *buffer) AllocatedSize() uint64 { return (b.length + pageSize - 1) &^ (pageSize - 1) }
func (b *buffer) Label() string         { return b.label }

func (b *buffer) Contents() []byte {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.released {
		return nil
	}
	return b.memory[:b.length:b.length]
}

// ReadAt copies out of the buffer, as io.ReaderAt.
func (b *buffer) ReadAt(p []byte, offset int64) (int, error) {
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
func (b *buffer) WriteAt(p []byte, offset int64) (int, error) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	to, err := b.at("write", offset)
	if err != nil {
		return 0, err
	}
	n := copy(to, p)
	if n < len(p) {
		return n, fmt.Errorf("write buffer %q: %d B at %d of %d: %w", b.label, len(p), offset, b.length, io.ErrShortWrite)
	}
	return n, nil
}

// at is the memory from offset on. The lock is held.
func (b *buffer) at(what string, offset int64) ([]byte, error) {
	switch {
	case b.released:
		return nil, fmt.Errorf("%s buffer %q: %w", what, b.label, metal.ErrReleased)
	case offset < 0:
		return nil, fmt.Errorf("%s buffer %q: offset %d: %w", what, b.label, offset, metal.ErrInvalid)
	case uint64(offset) >= b.length:
		return nil, nil
	}
	return b.memory[offset:b.length], nil
}

// SetPurgeable changes the state; Empty gives the pages back now.
func (b *buffer) SetPurgeable(s metal.PurgeableState) metal.PurgeableState {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.state
	if b.released || s < metal.NonVolatile || s > metal.Empty {
		return old
	}
	b.state = s
	if s == metal.Empty {
		_ = discardMemory(b.memory) // a system that refuses keeps the pages, which is no worse than Volatile
	}
	return old
}

// Release gives the owner's reference up.
func (b *buffer) Release() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released {
		return fmt.Errorf("release buffer %q: %w", b.label, metal.ErrReleased)
	}
	b.released = true
	return b.unref()
}

// retain adds a command buffer's reference.
func (b *buffer) retain() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released {
		return fmt.Errorf("buffer %q: %w", b.label, metal.ErrReleased)
	}
	b.refs++
	return nil
}

// settle takes a command buffer's reference back.
func (b *buffer) settle() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unref()
}

// unref drops a reference and gives the memory back with the last. The lock is held.
func (b *buffer) unref() error {
	b.refs--
	if b.refs > 0 {
		return nil
	}
	r := b.region
	b.region = region{}
	err := b.device.store.put(r)
	b.device.unreserve(uint64(len(r.memory)))
	if err != nil {
		return fmt.Errorf("release buffer %q: %w", b.label, err)
	}
	return nil
}
