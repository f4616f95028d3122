package soft

import (
	"errors"
	"sync"

	"github.com/gpumem/gpumem/metal/internal/command"
)

// Leaks are planted habits and defects of the driver, which but for the last no
// counter of Usage shows. The zero value plants none.
type Leaks struct {
	// Releases makes each release of a buffer leave a temporary, as Metal's does
	// (llama.cpp issue 27883: its dealloc autoreleases the device). A release
	// outside every Autorelease scope then grows.
	Releases bool
	// Freed keeps the pages of released buffers, as Metal may with buffers that
	// were not emptied before (tvm issue 6438).
	Freed bool
	// CommandBufferBytes stay with the driver for each completed command
	// buffer, touched and in whole pages.
	CommandBufferBytes int
	// Resident puts each buffer of at least so many bytes into a residency set
	// that nobody takes it out of: released, it stays allocated until the device
	// is closed, and Usage shows it. 0 is none.
	Resident uint64
}

// kept is memory that the driver does not give back before it is closed.
type kept struct {
	mu       sync.Mutex
	regions  []region
	bytes    int64
	resident []*command.HostBuffer // each with a reference
}

func (k *kept) add(r region) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.regions = append(k.regions, r)
	k.bytes += int64(len(r.memory))
}

// close gives all of it to the store.
func (k *kept) close(s *store) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var failed []error
	for _, r := range k.regions {
		failed = append(failed, s.put(r))
	}
	k.regions, k.bytes = nil, 0
	return errors.Join(failed...)
}

// hold takes a reference to a buffer that Leaks.Resident is for.
func (k *kept) hold(b *command.HostBuffer) error {
	if err := b.Retain(); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resident = append(k.resident, b)
	return nil
}

// letGo drops the references to resident buffers.
func (k *kept) letGo() error {
	k.mu.Lock()
	held := k.resident
	k.resident = nil
	k.mu.Unlock()
	var failed []error
	for _, b := range held {
		failed = append(failed, b.Drop())
	}
	return errors.Join(failed...)
}

// KeptBytes is what Leaks.Freed and Leaks.CommandBufferBytes have kept. Real
// drivers do not tell.
func (d *Device) KeptBytes() int64 {
	d.kept.mu.Lock()
	defer d.kept.mu.Unlock()
	return d.kept.bytes
}

// leak keeps what a completed command buffer leaves. A machine without memory
// for it leaves nothing: the work itself matters more.
func (d *Device) leak() {
	if d.leaks.CommandBufferBytes == 0 {
		return
	}
	r, err := d.store.get((d.leaks.CommandBufferBytes + pageSize - 1) &^ (pageSize - 1))
	if err != nil {
		return
	}
	touch(r.memory)
	d.kept.add(r)
}
