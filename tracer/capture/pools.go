package capture

import "github.com/gpumem/gpumem/tracer/record"

// pool is what one of the driver's pools told of itself last.
type pool struct {
	used, reserved, threshold uint64
	device                    int16
}

// pools are the driver's pools of stream-ordered memory, as they told last.
type pools struct {
	of map[uint64]pool
	// told is set once one told something: with none left there is nothing in them.
	told bool
	// async is what the program held of stream-ordered memory when a pool told last.
	async uint64
	peak  uint64 // the most of it since then
	// rounding is by how much the pools' own number was above that.
	rounding      uint64
	before, after map[uint64]pool // they were trimmed at the end
}

// state takes in what one pool told, while the program held async bytes.
func (p *pools) state(e *event, async uint64) {
	told := pool{used: e.size, reserved: max(e.aux, e.size), threshold: e.frames[0], device: e.device}
	into := &p.of
	switch {
	case e.flags&slotLast != 0:
		into = &p.after
	case e.flags&slotTrim != 0:
		into = &p.before
	}
	if *into == nil {
		*into = map[uint64]pool{}
	}
	(*into)[e.ptr], p.told = told, true
	if e.flags&(slotTrim|slotLast) != 0 {
		return
	}
	used := uint64(0)
	for _, one := range p.of {
		used += one.used
	}
	p.async, p.peak, p.rounding = async, async, 0
	if used > async {
		p.rounding = used - async
	}
}

func (p *pools) dropDevice(device int16) {
	for handle, one := range p.of {
		if one.device == device {
			delete(p.of, handle)
		}
	}
	p.rounding = 0
}

// now is what all pools together have, given what the program holds of their memory
// now: between two looks what is freed stays in the pool, and what is allocated comes
// out of it. Nothing once all that told are gone; false while no pool told anything.
func (p *pools) now(async uint64) (pool, bool) {
	var sum pool
	if len(p.of) == 0 {
		return sum, p.told
	}
	for _, one := range p.of {
		sum.used += one.used
		sum.reserved += one.reserved
		sum.threshold = max(sum.threshold, one.threshold)
	}
	sum.reserved = max(sum.reserved, sum.used+max(p.peak, p.async)-p.async)
	switch {
	case async >= p.async:
		sum.used += async - p.async
	case sum.used > p.async-async:
		sum.used -= p.async - async
	default:
		sum.used = 0
	}
	return sum, true
}

// Trimmed is what the driver's pools of a process gave back when it exited, in bytes
// as they told it themselves, of what they had idle, and of how many pools. It is false where none was
// trimmed: the environment had no EnvPurge, the program had no pool, or it did not
// end by exit.
func (r *Reader) Trimmed(pid int) (receipt record.Receipt, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.procs[pid]
	if p == nil || p.ledger.pools.after == nil {
		return record.Receipt{}, false
	}
	l := &p.ledger.pools
	var idle, given, count int64
	for handle, was := range l.before {
		if is, told := l.after[handle]; told {
			idle += clamp(was.reserved) - clamp(was.used)
			given += clamp(was.reserved) - clamp(is.reserved)
			count++
		}
	}
	return record.Receipt{Action: record.ActionPurge, ClaimedBytes: &idle, GPUBytes: &given, Count: &count,
		Account: record.AccountIdle}, true
}
