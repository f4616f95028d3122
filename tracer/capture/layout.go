package capture

import (
	"encoding/binary"
	"errors"
)

// The ring file, as inject/ring.c and event.c write it, little endian:
//
//	offset  header, 4096 bytes
//	0       magic "GPUMEM1\n"
//	8       version (1), header size, slot size (128), capacity; u32 each
//	24      pid, parent's pid; u32 each
//	32      start, realtime and monotonic, ns
//	48      flags
//	56      orphans: events of forked children that could make no ring
//	64      head: events begun
//	128     lost: events for which there were no slots
//	192     count of events by kind, 64 × u64
//
//	offset  slot, 128 bytes; event i lies in slot i mod capacity
//	0       sequence: i + 1 when complete, 0 while it is being written
//	8       time (monotonic, ns; 0 where the call succeeded), address, size; u64 each
//	32      thread; u32
//	36      kind; u16
//	38      result, device; i16 each
//	42      number of frames, flags; u8 each
//	44      check; u32
//	48      context, for cuMemMap the handle, for a pool's state what it has reserved
//	56      frames, 9 × u64: return addresses, innermost first, behind them the marked
//	        number of a line of Python (lines.go); for a pool's state, in whose size is
//	        what it has used, its release threshold
const (
	ringMagic   = "GPUMEM1\n"
	ringVersion = 1
	headerSize  = 4096
	headerUsed  = 192 + 8*kindSlots
	slotSize    = 128
	maxFrames   = 9
	maxCapacity = 1 << 20
	kindSlots   = 64
)

// Header flags.
const (
	flagSlots   = 1
	flagCounts  = 2
	flagExited  = 4
	flagForeign = 8
	flagAudit   = 16
	flagDriver  = 32
	flagMissed  = 64
	flagPassed  = 128
)

// Slot flags.
const (
	slotUndo    = 1  // the free that this thread recorded last failed
	slotHostMem = 2  // physical memory that is not a device's
	slotUnsized = 4  // the size is not known
	slotTrim    = 8  // a pool's state before it was trimmed at the end
	slotLast    = 16 // after that
)

var errNoRing = errors.New("not a gpumem ring")

type header struct {
	capacity      uint32
	pid, parent   int
	startRealtime int64
	start         int64 // monotonic, ns
	flags         uint64
	orphans       uint64
	head          uint64
	lost          uint64
	counts        [kindSlots]uint64
}

// decodeHeader reads the first headerUsed bytes of a ring.
func decodeHeader(b []byte) (header, error) {
	le := binary.LittleEndian
	if len(b) < headerUsed || string(b[:8]) != ringMagic || le.Uint32(b[8:]) != ringVersion ||
		le.Uint32(b[12:]) != headerSize || le.Uint32(b[16:]) != slotSize {
		return header{}, errNoRing
	}
	h := header{
		capacity: le.Uint32(b[20:]), pid: int(le.Uint32(b[24:])), parent: int(le.Uint32(b[28:])),
		startRealtime: int64(le.Uint64(b[32:])), start: int64(le.Uint64(b[40:])),
		flags: le.Uint64(b[48:]), orphans: le.Uint64(b[56:]), head: le.Uint64(b[64:]),
		lost: le.Uint64(b[128:]),
	}
	if h.capacity == 0 || h.capacity > maxCapacity || h.capacity&(h.capacity-1) != 0 || h.pid <= 0 {
		return header{}, errNoRing
	}
	for i := range h.counts {
		h.counts[i] = le.Uint64(b[192+8*i:])
	}
	return h, nil
}

// event is one call of the program, from a ring or from a probe.
type event struct {
	time   int64 // monotonic, ns; a ring has it of calls that failed
	ptr    uint64
	size   uint64
	aux    uint64 // context, for kindMap the handle, for kindPoolState the bytes reserved
	tid    uint32
	kind   kind
	rc     int16
	device int16 // -1 is not known
	flags  uint8
	frames stack
}

// stack is a call stack, innermost first; 0 ends a shorter one.
type stack [maxFrames]uint64

// How a slot stands to the event that is looked for.
type slotState int

const (
	slotReady   slotState = iota
	slotPending           // not yet written
	slotGone              // overwritten by a later event
	slotTorn              // changed while it was read, or never completed
)

// decodeSlot reads event number i of a slot.
func decodeSlot(b []byte, i uint64) (event, slotState) {
	le := binary.LittleEndian
	_ = b[slotSize-1]
	seq := le.Uint64(b)
	switch {
	case seq > i+1:
		return event{}, slotGone
	case seq != i+1:
		return event{}, slotPending
	}
	e := event{
		time: int64(le.Uint64(b[8:])), ptr: le.Uint64(b[16:]), size: le.Uint64(b[24:]),
		tid:  le.Uint32(b[32:]),
		kind: kind(le.Uint16(b[36:])), rc: int16(le.Uint16(b[38:])), device: int16(le.Uint16(b[40:])),
		flags: b[43], aux: le.Uint64(b[48:]),
	}
	nframes := b[42]
	sum := i ^ uint64(e.time) ^ e.ptr*3 ^ e.size*5 ^ e.aux*7 ^ uint64(e.kind)<<48 ^ uint64(
		nframes)<<32 ^ uint64(e.tid)
	if uint32(sum^sum>>32) != le.Uint32(b[44:]) || nframes > maxFrames {
		return event{}, slotTorn
	}
	for f := range int(nframes) {
		e.frames[f] = le.Uint64(b[56+8*f:])
	}
	return e, slotReady
}
