package ttmetal

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what a message may say. A message beyond them is refused.
const (
	// MaxDevices is how many devices are told apart. The tt-metal server knew
	// 8; a galaxy has 32.
	MaxDevices = 1024
	// MaxSize is the largest allocation, 100 GiB as in tt-metal's server.
	MaxSize = 100 << 30
)

// space tells buffers, circular buffers and kernels apart: they are numbered
// each on its own.
type space uint8

const (
	buffers space = iota
	circular
	kernels
	spaces
)

// key is what an allocation is known by.
type key struct {
	id     uint64
	device int32
	space  space
}

// shards divide the books, so that cores seldom wait for each other and a
// reader of all of them holds up few writers at a time. A power of two.
const shardCount = 16

// Registry is the books of live allocations. Its methods may be called from
// any number of goroutines.
type Registry struct {
	shards  [shardCount]shard
	devices [MaxDevices]atomic.Pointer[tally]
	history int // events kept a buffer, 0 is none
	now     func() time.Time
}

type shard struct {
	mu        sync.Mutex
	index     map[key]uint32
	slots     slots
	past      map[key]*history
	forgotten uint64   // events of buffers whose past there was no room for
	_         [64]byte // keeps neighbours off this cache line
}

// tally is a device's counters.
type tally struct {
	bytes   [counters]atomic.Int64
	kernels [kernelClasses]atomic.Int64 // bytes by class
	count   [spaces]atomic.Int64
}

// newRegistry makes empty books whose slots come from st.
func newRegistry(st store, remembered int) *Registry {
	r := &Registry{history: remembered, now: time.Now}
	for i := range r.shards {
		s := &r.shards[i]
		s.index, s.slots.store = map[key]uint32{}, st
		if remembered > 0 {
			s.past = map[key]*history{}
		}
	}
	return r
}

// shard mixes the id, whose low bits are often zero, and the device.
func (r *Registry) shard(k key) *shard {
	h := (k.id ^ uint64(uint32(k.device))<<40 ^ uint64(k.space)<<56) * 0x9e3779b97f4a7c15
	return &r.shards[h>>(64-4)]
}

// tally is a device's counters, made when there are none. device is in range.
func (r *Registry) tally(device int32) *tally {
	p := &r.devices[device]
	if t := p.Load(); t != nil {
		return t
	}
	p.CompareAndSwap(nil, new(tally))
	return p.Load()
}

// check says what is wrong with a request, nil when it can be applied.
func check(q *Request) error {
	switch q.Kind {
	case Alloc, CBAlloc, KernelLoad:
		if q.Size == 0 || q.Size > MaxSize {
			return fmt.Errorf("invalid size %d", q.Size)
		}
		if most := Memory(memories); q.Kind == Alloc && q.Memory >= most ||
			q.Kind == KernelLoad && q.Memory >= kernelClasses {
			return fmt.Errorf("invalid buffer_type %d for buffer 0x%x on device %d", q.Memory, q.ID, q.Device)
		}
	case Free, CBFree, KernelUnload:
	case Query, DeviceInfoQuery, DumpRemaining, DumpKernels:
		return nil // any device may be asked for
	default:
		return fmt.Errorf("unknown message type %d", q.Kind)
	}
	if q.Device < 0 || q.Device >= MaxDevices {
		return fmt.Errorf("invalid device_id %d", q.Device)
	}
	return nil
}

// apply enters a checked request of kind Alloc, Free, CBAlloc, CBFree,
// KernelLoad or KernelUnload into the books, charged to p, and says what
// happened.
func (r *Registry) apply(q *Request, p process) Event {
	e := Event{Kind: q.Kind, Memory: q.Memory, Device: q.Device, PID: p.pid, Size: q.Size, ID: q.ID}
	k := key{q.ID, q.Device, spaceOf(q.Kind)}
	t, s := r.tally(q.Device), r.shard(k)
	s.mu.Lock()
	i, known := s.index[k]
	switch q.Kind {
	case Alloc, CBAlloc, KernelLoad:
		if known {
			r.again(s.slots.at(i), t, q, &e)
			break
		}
		s.index[k] = s.slots.take(slot{
			id: q.ID, size: q.Size, time: r.stamp(q), start: p.start, device: q.Device,
			pid: p.pid, owner: p.owner, refs: 1, space: k.space, memory: q.Memory,
		})
		e.Refs = 1
		t.add(k.space, q.Memory, int64(q.Size), 1)
	default:
		if !known {
			e.Unknown = true
			break
		}
		v := s.slots.at(i)
		e.PID, e.Size, e.Memory = v.pid, v.size, v.memory
		if v.refs > 1 {
			v.refs--
			e.Refs = v.refs
			break
		}
		s.drop(k, i)
		t.add(k.space, v.memory, -int64(v.size), -1)
	}
	e.Total = t.bytes[totalOf(k.space, e.Memory)].Load()
	if s.past != nil && k.space == buffers {
		s.remember(k, &e, r.history, r.now())
	}
	s.mu.Unlock()
	return e
}

// again enters an allocation whose key is live already: another reference for
// a buffer, whose size stays (with history the last one counts, as upstream),
// the newest size for circular buffers and kernels, which are not counted.
func (r *Registry) again(v *slot, t *tally, q *Request, e *Event) {
	if q.Size != v.size {
		e.Was = v.size
	}
	if v.space == buffers && v.refs < 1<<32-1 {
		v.refs++
	}
	e.Refs = v.refs
	if v.space == buffers && (r.history == 0 || q.Size == v.size) {
		return
	}
	t.add(v.space, v.memory, int64(q.Size)-int64(v.size), 0)
	v.size = q.Size
}

// drop takes an allocation off the books.
func (s *shard) drop(k key, i uint32) {
	delete(s.index, k)
	s.slots.give(i)
}

// stamp is the time of an allocation: its own, or now when it has none.
func (r *Registry) stamp(q *Request) uint64 {
	if q.Time != 0 {
		return q.Time
	}
	return uint64(r.now().UnixNano())
}

func (t *tally) add(s space, m Memory, bytes, count int64) {
	t.bytes[totalOf(s, m)].Add(bytes)
	if s == kernels && m < kernelClasses {
		t.kernels[m].Add(bytes)
	}
	if count != 0 {
		t.count[s].Add(count)
	}
}

func spaceOf(k Kind) space {
	switch k {
	case CBAlloc, CBFree:
		return circular
	case KernelLoad, KernelUnload:
		return kernels
	}
	return buffers
}

func totalOf(s space, m Memory) Counter {
	switch s {
	case circular:
		return CountCB
	case kernels:
		return CountKernel
	}
	return counterOf(m)
}

// used is a device's byte counters; zeros for a device out of range or not
// heard of.
func (r *Registry) used(device int32) (used [counters]uint64) {
	if device < 0 || device >= MaxDevices {
		return used
	}
	if t := r.devices[device].Load(); t != nil {
		for c := range used {
			used[c] = uint64(t.bytes[c].Load())
		}
	}
	return used
}

// Used is one of a device's byte counters; 0 for a device out of range.
func (r *Registry) Used(device int32, c Counter) uint64 { return r.used(device)[c] }

// Live is how many buffers are on the books, circular buffers and kernels not
// counted.
func (r *Registry) Live() int64 {
	var n int64
	for i := range r.devices {
		if t := r.devices[i].Load(); t != nil {
			n += t.count[buffers].Load()
		}
	}
	return n
}

// seen is one more than the highest device heard of.
func (r *Registry) seen() uint32 {
	for i := len(r.devices) - 1; i >= 0; i-- {
		if r.devices[i].Load() != nil {
			return uint32(i) + 1
		}
	}
	return 0
}

// restore enters an allocation of an earlier server.
func (r *Registry) restore(v slot) bool {
	k := key{v.id, v.device, v.space}
	s := r.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.index[k]; known {
		return false
	}
	s.index[k] = s.slots.take(v)
	r.tally(v.device).add(v.space, v.memory, int64(v.size), 1)
	return true
}
