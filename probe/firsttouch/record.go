package firsttouch

import (
	"encoding/binary"
)

// Types of the records in a ring, of the kernel's interface.
const (
	recordLost        = 2
	recordThrottle    = 5
	recordSample      = 9
	recordLostSamples = 13

	headerSize = 8
	// contextMark is where the kernel's marks between parts of a call chain
	// begin; no code has such an address.
	contextMark = ^uint64(0) - 4095
	maxFrames   = 127 // the kernel's usual limit
)

// layout is which optional parts the samples have.
type layout struct {
	registers int // number of registers, 0 for none; on arm64 the first is the caller
	stack     bool
}

// sample is one page fault. Its slices point into the ring's copy and are
// valid until the next record.
type sample struct {
	address uint64 // of the page that was touched
	caller  uint64 // the direct caller's return address, 0 when not known
	frames  []uint64
	stack   []byte // from the stack pointer upwards
}

// decoder walks the records of a ring's copy.
type decoder struct {
	layout    layout
	lost      uint64
	throttled uint64
	bad       uint64
	frames    [maxFrames]uint64
	s         sample
}

// each calls fn for every sample in b, which holds whole records, and counts
// the other records. What does not fit its own length is counted as bad and
// passed over; a record without a length ends the walk.
func (d *decoder) each(b []byte, fn func(*sample)) {
	for len(b) >= headerSize {
		kind := binary.NativeEndian.Uint32(b)
		size := int(binary.NativeEndian.Uint16(b[6:]))
		if size < headerSize || size > len(b) {
			d.bad++
			return
		}
		body := b[headerSize:size]
		b = b[size:]
		switch kind {
		case recordSample:
			if d.sample(body) {
				fn(&d.s)
			} else {
				d.bad++
			}
		case recordLost:
			if len(body) >= 16 {
				d.lost += binary.NativeEndian.Uint64(body[8:])
			}
		case recordLostSamples:
			if len(body) >= 8 {
				d.lost += binary.NativeEndian.Uint64(body)
			}
		case recordThrottle:
			d.throttled++
		}
	}
}

// sample decodes a record of ADDR, CALLCHAIN, then REGS_USER and STACK_USER as
// the layout says; the kernel fixes that order.
func (d *decoder) sample(b []byte) bool {
	r := reader{b: b}
	d.s = sample{address: r.word(), frames: d.frames[:0]}
	n := r.word()
	if n > uint64(len(r.b)/8) {
		return false
	}
	for range n {
		if f := r.word(); f < contextMark && len(d.s.frames) < maxFrames {
			d.s.frames = append(d.s.frames, f)
		}
	}
	if d.layout.registers > 0 && r.word() != 0 { // the ABI; 0: no registers
		d.s.caller = r.word()
		for range d.layout.registers - 1 {
			r.word()
		}
	}
	if d.layout.stack {
		d.stack(&r)
	}
	return !r.short
}

// stack takes the stack's copy: its room, the bytes, and how many are real.
func (d *decoder) stack(r *reader) {
	room := r.word()
	if room == 0 || room > uint64(len(r.b)) {
		r.short = r.short || room != 0
		return
	}
	d.s.stack = r.b[:room]
	r.b = r.b[room:]
	if real := r.word(); real < room {
		d.s.stack = d.s.stack[:real]
	}
	if d.layout.registers == 0 && len(d.s.stack) >= 8 {
		d.s.caller = binary.NativeEndian.Uint64(d.s.stack)
	}
}

// reader takes words off a buffer; past its end they are 0 and short is set.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		r.short = true
		return 0
	}
	v := binary.NativeEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}
