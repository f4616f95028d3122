package console

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
	BeforeBytes int64 // allocated before
	AfterBytes  int64 // allocated after
	Length      uint64
	References  int64 // before this one went
	Pooled      bool  // the buffer belongs to the pool's size classes
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
