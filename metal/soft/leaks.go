package soft

import (
	"errors"
	"sync"
)

// Leaks are planted defects of the driver that no counter of Usage shows. The
// zero value plants none.
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
}

// kept is memory that the driver does not give back before it is closed.
type kept struct {
	mu      sync.Mutex
	regions []region
	bytes   int64
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
	for i := range r.memory {
		r.memory[i] = byte(i)
	}
	d.kept.add(r)
}
