package soft

import (
	"errors"
	"math/bits"
	"slices"
	"sync"
)

const (
	// temporarySize is what a command buffer and an encoder each leave, so
	// that a launch leaves about 2 KiB (modular issue 6816 measured 1.8 KB).
	temporarySize = 1 << 10
	// slabSize is mapped at a time: one block for each bit of slab.taken.
	slabSize = 64 * temporarySize
)

// temporaries are the blocks that a driver autoreleases.
type temporaries struct {
	mu     sync.Mutex
	scopes []*scope
	slabs  map[*slab]bool // mapped
	// room holds slabs with a free block, the next one last. Slabs that were
	// unmapped since stay in it until they come up.
	room []*slab
	used int64 // blocks
}

// scope is an open autorelease scope.
type scope struct{ blocks []block }

// slab is mapped memory cut into blocks.
type slab struct {
	memory []byte
	taken  uint64 // a bit a block
	listed bool   // in room
}

// block is one temporary.
type block struct {
	slab *slab
	at   int
}

func (t *temporaries) inUse() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used * temporarySize
}

func (t *temporaries) push() *scope {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &scope{}
	t.scopes = append(t.scopes, s)
	return s
}

// drain frees a scope's temporaries. Scopes may end in another order than they
// began in, when several goroutines have some.
func (t *temporaries) drain(s *scope) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.scopes, s); i >= 0 {
		t.scopes = slices.Delete(t.scopes, i, i+1)
	}
	for _, b := range s.blocks {
		t.put(b)
	}
}

// make leaves one temporary in the innermost scope, or for good outside every
// scope. A machine without memory for it leaves none: the work itself matters
// more.
func (t *temporaries) make() {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, err := t.take()
	if err != nil {
		return
	}
	if n := len(t.scopes); n > 0 {
		t.scopes[n-1].blocks = append(t.scopes[n-1].blocks, b)
	}
}

// take is a touched block. The lock is held.
func (t *temporaries) take() (block, error) {
	s, err := t.roomy()
	if err != nil {
		return block{}, err
	}
	b := block{s, bits.TrailingZeros64(^s.taken)}
	s.taken |= 1 << b.at
	if ^s.taken == 0 {
		s.listed = false
		t.room = t.room[:len(t.room)-1]
	}
	t.used++
	touch(s.memory[b.at*temporarySize:][:temporarySize])
	return b, nil
}

// roomy is the last slab of room, mapped when there is none.
func (t *temporaries) roomy() (*slab, error) {
	for n := len(t.room); n > 0; n-- {
		if s := t.room[n-1]; s.memory != nil {
			return s, nil
		}
		t.room = t.room[:n-1]
	}
	memory, err := mapMemory(slabSize)
	if err != nil {
		return nil, err
	}
	s := &slab{memory: memory, listed: true}
	if t.slabs == nil {
		t.slabs = map[*slab]bool{}
	}
	t.slabs[s] = true
	t.room = append(t.room, s)
	return s, nil
}

// put frees a block, and its slab when that is empty and not the only one. The
// lock is held.
func (t *temporaries) put(b block) {
	t.used--
	s := b.slab
	s.taken &^= 1 << b.at
	switch {
	case s.taken == 0 && len(t.slabs) > 1:
		delete(t.slabs, s)
		_ = unmapMemory(s.memory) // nobody can do anything about it
		s.memory = nil
	case !s.listed:
		s.listed = true
		t.room = append(t.room, s)
	}
}

// close unmaps everything, also what no scope ever freed. A scope that is
// still open frees nothing afterwards.
func (t *temporaries) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var failed []error
	for s := range t.slabs {
		failed = append(failed, unmapMemory(s.memory))
	}
	for _, s := range t.scopes {
		s.blocks = nil
	}
	t.slabs, t.room, t.used = nil, nil, 0
	return errors.Join(failed...)
}
