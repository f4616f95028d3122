package gguf

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
)

// scanner reads little-endian values in order and keeps the first error. No
// read asks for more than the file has left.
type scanner struct {
	r      *bufio.Reader
	src    io.ReaderAt
	offset int64
	end    int64 // of what may be read: the file or maxHeader
	size   int64
	err    error
}

func newScanner(r io.ReaderAt, size int64) *scanner {
	end := min(max(size, 0), maxHeader)
	return &scanner{r: bufio.NewReader(io.NewSectionReader(r, 0, end)), src: r, end: end, size: size}
}

func (s *scanner) left() int64 { return s.end - s.offset }

// need reports whether n more bytes may be read for what; if not it sets err.
func (s *scanner) need(n uint64, what string) bool {
	switch {
	case s.err != nil:
		return false
	case n <= uint64(s.left()):
		return true
	case s.size > s.end:
		s.err = formatErrorf(s.offset, "%s: %d bytes, beyond the largest header read (%d bytes)", what,
			n, int64(maxHeader))
	default:
		s.err = formatErrorf(s.offset, "%s: needs %d bytes, the file has %d left: file truncated", what,
			n, s.left())
	}
	return false
}

// fill reads len(p) bytes.
func (s *scanner) fill(p []byte, what string) {
	if !s.need(uint64(len(p)), what) {
		return
	}
	if _, err := io.ReadFull(s.r, p); err != nil {
		s.err = formatErrorf(s.offset, "%s: %v", what, err)
		return
	}
	s.offset += int64(len(p))
}

// skip passes over n bytes unread.
func (s *scanner) skip(n uint64, what string) {
	if !s.need(n, what) {
		return
	}
	if n <= uint64(s.r.Buffered()) {
		s.r.Discard(int(n)) // cannot fail: the bytes are buffered
	} else {
		from := s.offset + int64(n)
		s.r.Reset(io.NewSectionReader(s.src, from, s.end-from))
	}
	s.offset += int64(n)
}

func (s *scanner) u32(what string) uint32 {
	var b [4]byte
	s.fill(b[:], what)
	return binary.LittleEndian.Uint32(b[:])
}

func (s *scanner) u64(what string) uint64 {
	var b [8]byte
	s.fill(b[:], what)
	return binary.LittleEndian.Uint64(b[:])
}

// str reads a string of at most limit bytes.
func (s *scanner) str(what string, limit uint64) string {
	at := s.offset
	n := s.u64(what)
	if !s.need(n, what) {
		return ""
	}
	if n > limit {
		s.err = formatErrorf(at, "%s: %d bytes, at most %d are allowed", what, n, limit)
		return ""
	}
	p := make([]byte, n)
	s.fill(p, what)
	return string(p)
}

// value reads one metadata value.
func (s *scanner) value(k Kind) any {
	at := s.offset
	switch k {
	case String:
		return s.str("metadata string", maxString)
	case ArrayOf:
		return s.array(1)
	}
	n := k.size()
	if n == 0 {
		if s.err == nil {
			s.err = formatErrorf(at, "unknown metadata kind %d", uint32(k))
		}
		return nil
	}
	var b [8]byte
	s.fill(b[:n], "metadata value")
	if s.err == nil && k == Bool && b[0] > 1 {
		s.err = formatErrorf(at, "bool is %d, not 0 or 1", b[0])
	}
	return scalar(k, binary.LittleEndian.Uint64(b[:]))
}

// scalar makes the Go value of a kind out of its bits.
func scalar(k Kind, bits uint64) any {
	switch k {
	case Uint8:
		return uint8(bits)
	case Int8:
		return int8(bits)
	case Uint16:
		return uint16(bits)
	case Int16:
		return int16(bits)
	case Uint32:
		return uint32(bits)
	case Int32:
		return int32(bits)
	case Float32:
		return math.Float32frombits(uint32(bits))
	case Bool:
		return bits != 0
	case Uint64:
		return bits
	case Int64:
		return int64(bits)
	default:
		return math.Float64frombits(bits)
	}
}

// array passes over an array's elements and says where they lie. Depth is
// limited because arrays of arrays are read by recursion.
func (s *scanner) array(depth int) Array {
	at := s.offset
	a := Array{Kind: Kind(s.u32("array kind")), Count: s.u64("array count")}
	a.Offset = s.offset
	if s.err != nil {
		return a
	}
	width := a.Kind.size()
	switch {
	case width > 0:
		if a.Count > uint64(s.left()/width) {
			s.err = formatErrorf(at, "array of %d values cannot fit in the %d bytes left", a.Count, s.left())
			return a
		}
		s.skip(a.Count*uint64(width), "array")
	case a.Kind == String || a.Kind == ArrayOf && depth < maxArrayDepth:
		for i := uint64(0); i < a.Count && s.err == nil; i++ {
			if a.Kind == String {
				s.skip(s.u64("array string"), "array string")
			} else {
				s.array(depth + 1)
			}
		}
	case a.Kind == ArrayOf:
		s.err = formatErrorf(at, "arrays nest deeper than %d", maxArrayDepth)
	default:
		s.err = formatErrorf(at, "unknown array kind %d", uint32(a.Kind))
	}
	a.Bytes = s.offset - a.Offset
	return a
}
