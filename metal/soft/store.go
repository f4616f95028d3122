package soft

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

const (
	// slabLength is mapped at a time for small buffers.
	slabLength = 32 << 20
	// smallLength is the largest buffer that shares a slab.
	smallLength = 1 << 20
)

// store is where buffers live. A mapping for each would reach Linux's limit
// (vm.max_map_count, 65,530) with an eighth of Metal's 499,000 buffers once
// releases leave holes between them, and then nothing in the process can map or
// unmap, Go's own heap included. So small buffers are slots of slabs, one size
// a slab: their pages go back to the system, the address range stays.
type store struct {
	mu    sync.Mutex
	slabs map[*bufferSlab]bool // mapped
	room  [smallLength/pageSize + 1]sizeClass
}

// sizeClass are the slabs of one slot size, by the slot's pages.
type sizeClass struct {
	// room holds slabs with a free slot, the next one last. Slabs that were
	// unmapped since stay in it until they come up.
	room []*bufferSlab
	// empty is a slab without a used slot that is kept for the next buffer.
	empty *bufferSlab
}

// bufferSlab is a mapping cut into slots.
type bufferSlab struct {
	memory []byte
	slot   int   // bytes
	free   []int // slots given back, the next one last
	fresh  int   // slots from here on were never used
	used   int
	listed bool // in room
}

// region is the memory of one buffer.
type region struct {
	memory []byte
	slab   *bufferSlab // nil for a mapping of its own
}

// get is zeroed memory of n bytes, a multiple of the page size.
func (s *store) get(n int) (region, error) {
	if n > smallLength {
		memory, err := mapMemory(n)
		return region{memory: memory}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.room[n/pageSize]
	slab, err := s.roomy(c, n)
	if err != nil {
		return region{}, err
	}
	at := slab.take()
	memory := slab.memory[at*n : (at+1)*n : (at+1)*n]
	if err := commitMemory(memory); err != nil {
		slab.free = append(slab.free, at)
		return region{}, err
	}
	slab.used++
	if c.empty == slab {
		c.empty = nil
	}
	if slab.full() {
		slab.listed = false
		c.room = c.room[:len(c.room)-1]
	}
	return region{memory, slab}, nil
}

// roomy is the last slab of the class's room, mapped when there is none. The
// lock is held.
func (s *store) roomy(c *sizeClass, slot int) (*bufferSlab, error) {
	for n := len(c.room); n > 0; n-- {
		if slab := c.room[n-1]; slab.memory != nil {
			return slab, nil
		}
		c.room = c.room[:n-1]
	}
	memory, err := reserveMemory(slabLength)
	if err != nil {
		return nil, err
	}
	slab := &bufferSlab{memory: memory, slot: slot, listed: true}
	if s.slabs == nil {
		s.slabs = map[*bufferSlab]bool{}
	}
	s.slabs[slab] = true
	c.room = append(c.room, slab)
	return slab, nil
}

// take is a free slot, one that was used before if there is any.
func (b *bufferSlab) take() int {
	if n := len(b.free); n > 0 {
		at := b.free[n-1]
		b.free = b.free[:n-1]
		return at
	}
	b.fresh++
	return b.fresh - 1
}

func (b *bufferSlab) full() bool {
	return len(b.free) == 0 && (b.fresh+1)*b.slot > len(b.memory)
}

// put gives the pages of r back to the system at once.
func (s *store) put(r region) error {
	if r.slab == nil {
		return unmapMemory(r.memory)
	}
	// The slot is still the caller's, so the system call needs no lock.
	if err := decommitMemory(r.memory); err != nil {
		return fmt.Errorf("give pages back: %w", err) // the slot stays taken
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slab := r.slab
	c := &s.room[slab.slot/pageSize]
	slab.free = append(slab.free, slab.at(r.memory))
	slab.used--
	if slab.used == 0 && c.empty != nil {
		return s.unmap(slab)
	}
	if slab.used == 0 {
		c.empty = slab
	}
	if !slab.listed {
		slab.listed = true
		c.room = append(c.room, slab)
	}
	return nil
}

// at is the slot that memory is.
func (b *bufferSlab) at(memory []byte) int {
	first, part := unsafe.SliceData(b.memory), unsafe.SliceData(memory)
	return int(uintptr(unsafe.Pointer(part))-uintptr(unsafe.Pointer(first))) / b.slot
}

// unmap drops a slab that nothing uses. The lock is held.
func (s *store) unmap(slab *bufferSlab) error {
	delete(s.slabs, slab)
	memory := slab.memory
	slab.memory = nil
	return unmapMemory(memory)
}

// close unmaps the slabs; nothing uses them any more.
func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed []error
	for slab := range s.slabs {
		failed = append(failed, s.unmap(slab))
	}
	s.room = [len(s.room)]sizeClass{}
	return errors.Join(failed...)
}
