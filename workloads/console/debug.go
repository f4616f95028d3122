package console

import "strings"

// Allocation writes the pair of lines about one request served by the device:
// what was allocated before and after it, its size class and its bytes.
func (p *Printer) Allocation(before, after int64, sizeClass, bytes uint64) {
	if p == nil || !p.modes.DebugMemory {
		return
	}
	p.talk("[GPU_MEMORY] Before allocation: %.2f MB allocated\n"+
		"[GPU_MEMORY] After allocation: %.2f MB (%+.2f MB) - size_class=%d, bytes=%d\n",
		mb(before), mb(after), mb(after-before), sizeClass, bytes)
}

// Release is the end of one reference to a buffer.
type Release struct {
	BeforeBytes int64  // allocated before
	AfterBytes  int64  // allocated after
	Length      uint64 // elements that were asked for
	References  int64  // before this one went
	Pooled      bool   // the buffer belongs to the pool's size classes
	SizeClass   uint64
	// Refused is why the pool did not take the buffer ("cap full", "busy",
	// "shared"); empty when it did. TensorLogic printed "returned to pool"
	// in every case.
	Refused string
}

// Deallocation writes the pair of lines about a release with what really
// became of the buffer.
func (p *Printer) Deallocation(r Release) {
	if p == nil || !p.modes.DebugMemory {
		return
	}
	const before = "[GPU_MEMORY] Before deallocation: %.2f MB - buffer_length=%d, ref_count=%d, pooled=%t\n"
	switch {
	case !r.Pooled:
		p.talk(before+"[GPU_MEMORY] Non-pooled buffer drop: ref_count=%d, will be freed when ref_count=0\n",
			mb(r.BeforeBytes), r.Length, r.References, r.Pooled, r.References)
	case r.Refused != "":
		p.talk(before+"[GPU_MEMORY] After pool return: %.2f MB - not returned to pool (%s), size_class=%d\n",
			mb(r.BeforeBytes), r.Length, r.References, r.Pooled, mb(r.AfterBytes), r.Refused, r.SizeClass)
	default:
		p.talk(before+"[GPU_MEMORY] After pool return: %.2f MB - returned to pool, size_class=%d\n",
			mb(r.BeforeBytes), r.Length, r.References, r.Pooled, mb(r.AfterBytes), r.SizeClass)
	}
}

// CleanupBefore writes the line before a program clears so many variables.
func (p *Printer) CleanupBefore(allocated int64, variables int) {
	if p == nil || !p.modes.DebugMemory {
		return
	}
	p.talk("[GPU_MEMORY] Before cleanup: %.2f MB - clearing %d variables\n", mb(allocated), variables)
}

// CleanupAfter writes the line after a program cleared its variables.
func (p *Printer) CleanupAfter(allocated int64) {
	if p == nil || !p.modes.DebugMemory {
		return
	}
	p.talk("[GPU_MEMORY] After cleanup: %.2f MB - all variables cleared\n", mb(allocated))
}

// Purged writes what a purge gave back.
func (p *Printer) Purged(buffers, bytes int64) {
	if p == nil || !p.modes.DebugMemory {
		return
	}
	p.talk("[GPU_MEMORY] Purged %d buffers (%.2f MB) from buffer pool\n", buffers, mb(bytes))
}

// Requested writes the lines of TL_BUFFER_DEBUG about a request for so many
// elements, served by an idle buffer or a new one of so many bytes.
func (p *Printer) Requested(elements, sizeClass, bytes uint64, reused bool) {
	if p == nil || !p.modes.BufferDebug {
		return
	}
	p.talk("[BufferPool::allocate] requested=%d, size_class=%d\n", elements, sizeClass)
	if reused {
		p.talk("[BufferPool::allocate] ✓ reused buffer from pool, size_class=%d\n", sizeClass)
		return
	}
	p.talk("[BufferPool::allocate] ✗ new allocation, size_class=%d, bytes=%d\n", sizeClass, bytes)
}

// GiveBack is a buffer on its way back to the pool, for GivenBack.
type GiveBack struct {
	Length    uint64 // elements that were asked for
	SizeClass uint64
	// PoolSize are the idle buffers of the class afterwards, Limit how many it
	// may have.
	PoolSize, Limit int64
	References      int64
	Outcome         ReturnOutcome
}

// ReturnOutcome is what became of a returned buffer.
type ReturnOutcome int

// The outcomes of a return.
const (
	Kept ReturnOutcome = iota
	PoolFull
	PoolLocked
	StillReferenced
)

// GivenBack writes the lines of TL_BUFFER_DEBUG about a buffer given back.
func (p *Printer) GivenBack(r GiveBack) {
	if p == nil || !p.modes.BufferDebug {
		return
	}
	const who = "[BufferPool::try_return_buffer] "
	if r.Outcome == PoolLocked {
		p.talk(who+"✗ pool locked, dropping buffer (size_class=%d, length=%d)\n", r.SizeClass, r.Length)
		return
	}
	p.talk(who+"length=%d, size_class=%d\n", r.Length, r.SizeClass)
	switch r.Outcome {
	case Kept:
		p.talk(who+"✓ returned to pool, size_class=%d, pool_size=%d\n", r.SizeClass, r.PoolSize)
	case PoolFull:
		p.talk(who+"✗ pool full, size_class=%d, limit=%d, dropping buffer\n", r.SizeClass, r.Limit)
	case StillReferenced:
		p.talk(who+"✗ buffer has %d references, not returning to pool (size_class=%d)\n", r.References,
			r.SizeClass)
	}
}

// CacheSet writes the line of TL_DEBUG_CACHE about the keys of a layer's cache,
// set for the first time or grown. at is what stands for the buffer's address.
func (p *Printer) CacheSet(layer int, grown bool, at uint64, shape []int) {
	if p == nil || !p.modes.DebugCache {
		return
	}
	if grown {
		p.talk("[Cache UPDATE layer %d] new_k buffer ptr: 0x%x, shape: %s\n", layer, at, list(shape))
		return
	}
	p.talk("[Cache SET layer %d] k buffer ptr: 0x%x, shape: %s\n", layer, at, list(shape))
}

// list is a shape as Rust prints it: [8, 8].
func list(shape []int) string {
	return "[" + strings.Join(dims(shape), ", ") + "]"
}
