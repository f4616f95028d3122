package ttmetal

import "encoding/binary"

// legacy is one of two formats that clients send and no tt-metal server ever
// understood.
type legacy uint8

const (
	// stats24 is a single request for statistics, kind 2 and 23 bytes of 0:
	// answered with six counters a device, then closed.
	stats24 legacy = 1
	// packed32 are events of 32 bytes, kinds 8 to 11: device at 4, size at 8,
	// id at 16, process at 24.
	packed32 legacy = 2
)

// Sizes of the legacy messages, and how many devices a statistics reply has.
const (
	statsSize    = 24
	packedSize   = 32
	statsDevices = 8
)

// legacyMaybe reports whether n bytes that came at once may be of a legacy
// client, should nothing follow.
func (f *framer) legacyMaybe(n int) bool {
	return n == f.first && uint64(n) == f.read && (n == statsSize || n > 0 && n < V1 && n%packedSize == 0)
}

// detectLegacy recognises the legacy formats: by silence after a first read
// of the right length, or by a second packed event where another message has
// the low bytes of a time (1 in 2^30 of those look the same).
func (f *framer) detectLegacy(b []byte, idle bool) bool {
	if len(b) < 2*packedSize && !(idle && f.legacyMaybe(len(b))) {
		return false
	}
	switch {
	case len(b) == statsSize && b[0] == byte(Free) && zeros(b[1:]):
		f.legacy = stats24
		f.from = len(f.buf)
	case len(b) >= packedSize && isPacked(b):
		f.legacy = packed32
		f.size, f.sure = packedSize, true
	}
	return f.legacy != 0
}

// isPacked reports whether b is a row of packed events; the last one may be
// cut.
func isPacked(b []byte) bool {
	for ; len(b) > 0; b = b[min(packedSize, len(b)):] {
		if k := Kind(b[0]); k < CBAlloc || k > KernelUnload || !zeros(b[1:min(4, len(b))]) {
			return false
		}
	}
	return true
}

func zeros(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// nextPacked hands out an event of 32 bytes.
func (f *framer) nextPacked() (Request, bool, error) {
	b := f.buf[f.from:]
	if len(b) < packedSize {
		return Request{}, false, nil
	}
	f.from += packedSize
	return Request{
		Kind:   Kind(b[0]),
		Device: int32(binary.LittleEndian.Uint32(b[4:])),
		Size:   binary.LittleEndian.Uint64(b[8:]),
		ID:     binary.LittleEndian.Uint64(b[16:]),
		PID:    int32(binary.LittleEndian.Uint32(b[24:])),
	}, true, nil
}

// appendStats appends the answer to stats24: six counters of eight devices.
func appendStats(b []byte, used func(device int32) [counters]uint64) []byte {
	for d := range int32(statsDevices) {
		for _, v := range used(d) {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	return b
}
