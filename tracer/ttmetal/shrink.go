package ttmetal

import "runtime/debug"

// The books of a program with millions of buffers are large, and a map of Go
// keeps its room when what was in it is gone. So where a shard holds a quarter
// of what it once held, it is made anew.
const (
	sparsePart = 4
	// muchFreed is from how many entries on, of about 100 bytes each, memory is
	// given back to the system at once. It costs a collection of garbage.
	muchFreed = 1 << 16
)

// Shrink gives back the room of allocations that are no more, and reports for
// how many entries. It holds up a shard at a time, for as long as it takes to
// copy what is left in it.
func (r *Registry) Shrink() (entries int) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		if s.slots.sparse() {
			entries += int(s.slots.most) - s.slots.live()
			s.shrink()
		}
		s.mu.Unlock()
	}
	if entries >= muchFreed {
		debug.FreeOSMemory()
	}
	return entries
}

// live is how many slots are taken.
func (s *slots) live() int { return int(s.used) - len(s.free) }

// sparse reports whether most of the room is not needed any more.
func (s *slots) sparse() bool { return s.most >= chunkSlots && s.live() <= int(s.most)/sparsePart }

// shrink makes the index anew, and the slots where they may move. Those of a
// file stay where they are, since a kill between two places would leave an
// allocation in both; their empty chunks rest in the file.
func (s *shard) shrink() {
	old, index := s.slots, make(map[key]uint32, s.slots.live())
	if old.store.fixed() {
		s.slots.rest()
	} else {
		s.slots = slots{store: old.store}
	}
	old.each(func(i uint32, v *slot) {
		if !old.store.fixed() {
			i = s.slots.take(*v)
		}
		index[key{v.id, v.device, v.space}] = i
	})
	s.index = index
	s.slots.most = uint32(s.slots.live())
}

// rest tells the store which chunks have no taken slot.
func (s *slots) rest() {
	for n, chunk := range s.chunks {
		taken := false
		for i := range min(chunkSlots, int(s.used)-n*chunkSlots) {
			taken = taken || chunk[i].live == liveMark
		}
		if !taken {
			s.store.rest(chunk)
		}
	}
}
