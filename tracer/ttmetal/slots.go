package ttmetal

import (
	"sync/atomic"
	"unsafe"
)

// slot is one live allocation. Its layout is that of the state file: fields of
// fixed size without padding, the word live written last when it is taken and
// first when it is given up, so that a kill leaves each slot whole or free.
type slot struct {
	id     uint64
	size   uint64
	time   uint64 // ns since the epoch
	start  uint64 // of the owner, see process
	device int32
	pid    int32 // as the program says
	owner  int32 // as this system says; 0 is not known
	refs   uint32
	space  space
	memory Memory
	_      [2]byte
	live   uint32 // liveMark when taken
}

const (
	slotSize = int(unsafe.Sizeof(slot{})) // 56
	// chunkSlots slots are 448 KiB, a multiple of every page size in use
	// (4, 16 and 64 KiB), so that a chunk can be a part of a mapped file.
	chunkSlots = 8192
	chunkSize  = chunkSlots * slotSize
	liveMark   = 0x4556494c // "LIVE"
)

// store gives out chunks of slots. It is called by all shards at once.
type store interface {
	// chunk returns chunkSlots free slots that stay valid until close.
	chunk() []slot
	// fixed reports whether slots must stay where they are.
	fixed() bool
	// rest says that a chunk has no taken slot. It stays valid.
	rest(chunk []slot)
}

// heap keeps the slots in ordinary memory.
type heap struct{}

func (heap) chunk() []slot { return make([]slot, chunkSlots) }
func (heap) fixed() bool   { return false }
func (heap) rest([]slot)   {}

// slots are the slots of one shard. The shard's lock guards them.
type slots struct {
	store  store
	chunks [][]slot
	used   uint32 // slots ever taken
	free   []uint32
	most   uint32 // slots that were taken at one time, since the last shrink
}

func (s *slots) at(i uint32) *slot { return &s.chunks[i/chunkSlots][i%chunkSlots] }

// take fills a free slot and returns its index.
func (s *slots) take(v slot) uint32 {
	var i uint32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		if int(s.used) == len(s.chunks)*chunkSlots {
			s.chunks = append(s.chunks, s.store.chunk())
		}
		i = s.used
		s.used++
	}
	s.most = max(s.most, s.used-uint32(len(s.free)))
	p := s.at(i)
	v.live = 0
	*p = v
	atomic.StoreUint32(&p.live, liveMark)
	return i
}

// give gives a slot up.
func (s *slots) give(i uint32) {
	atomic.StoreUint32(&s.at(i).live, 0)
	s.free = append(s.free, i)
}

// each calls f for every taken slot; f may give it up.
func (s *slots) each(f func(i uint32, v *slot)) {
	for i := range s.used {
		if v := s.at(i); v.live == liveMark {
			f(i, v)
		}
	}
}
