package scan

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"io"
	"time"
)

// Version tells builds of a program apart.
type Version struct {
	// ID is the head of the build id that the linker wrote, in hexadecimal, or
	// "~" and a hash of the file's size and time of change where there is
	// none. Empty is not known.
	ID string
	// Modified is when the file was changed last, zero when not known.
	Modified time.Time
}

const (
	idDigits = 12      // of a build id's 40: as git shortens its own
	maxNote  = 1 << 16 // of one note segment
	maxPhdr  = 256     // program headers looked at
)

// fileVersion makes the version out of a file's size and time of change.
func fileVersion(size int64, modified time.Time) Version {
	h := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], uint64(size))
	binary.LittleEndian.PutUint64(b[8:], uint64(modified.UnixNano()))
	h.Write(b[:]) // never fails
	return Version{ID: "~" + hex.EncodeToString(h.Sum(nil))[:idDigits-1], Modified: modified}
}

// BuildID reads the build id out of an ELF file: the note "GNU", type 3. It
// reads the headers and the notes only, and reports false for any file that is
// no ELF file or has no build id.
func BuildID(r io.ReaderAt) ([]byte, bool) {
	var head [64]byte
	if n, _ := r.ReadAt(head[:], 0); n < 52 || string(head[:4]) != "\x7fELF" {
		return nil, false
	}
	order, ok := byteOrder(head[5])
	if !ok {
		return nil, false
	}
	l, ok := layoutOf(head[4], head[:], order)
	if !ok {
		return nil, false
	}
	table := make([]byte, min(l.count, maxPhdr)*l.size)
	n, _ := r.ReadAt(table, l.offset)
	for ; n >= l.size; n, table = n-l.size, table[l.size:] {
		if order.Uint32(table) != 4 { // PT_NOTE
			continue
		}
		if id, ok := readNotes(r, l.note(table, order), order); ok {
			return id, true
		}
	}
	return nil, false
}

func byteOrder(data byte) (binary.ByteOrder, bool) {
	switch data {
	case 1:
		return binary.LittleEndian, true
	case 2:
		return binary.BigEndian, true
	}
	return nil, false
}

// layout is where the program headers are.
type layout struct {
	offset      int64
	size, count int
	wide        bool // 64 bits
}

// layoutOf takes e_phoff, e_phentsize and e_phnum out of the file's header.
func layoutOf(class byte, head []byte, order binary.ByteOrder) (layout, bool) {
	var l layout
	least := 32
	switch class {
	case 1:
		l = layout{int64(order.Uint32(head[28:])), int(order.Uint16(head[42:])),
			int(order.Uint16(head[44:])), false}
	case 2:
		l = layout{int64(order.Uint64(head[32:])), int(order.Uint16(head[54:])),
			int(order.Uint16(head[56:])), true}
		least = 56
	}
	return l, l.size >= least && l.size <= 4096 && l.offset > 0
}

// segment is a part of a file.
type segment struct{ offset, size int64 }

// note takes p_offset and p_filesz out of a program header.
func (l layout) note(header []byte, order binary.ByteOrder) segment {
	if l.wide {
		return segment{int64(order.Uint64(header[8:])), int64(order.Uint64(header[32:]))}
	}
	return segment{int64(order.Uint32(header[4:])), int64(order.Uint32(header[16:]))}
}

// readNotes looks for the build id in one segment of notes: sizes of name and
// description, type, name, description, both padded to 4.
func readNotes(r io.ReaderAt, s segment, order binary.ByteOrder) ([]byte, bool) {
	if s.offset <= 0 || s.size < 12 {
		return nil, false
	}
	b := make([]byte, min(s.size, maxNote))
	n, _ := r.ReadAt(b, s.offset)
	for b = b[:n]; len(b) >= 12; {
		name, desc := int64(order.Uint32(b)), int64(order.Uint32(b[4:]))
		kind := order.Uint32(b[8:])
		b = b[12:]
		end := pad4(name) + pad4(desc)
		if end > int64(len(b)) {
			return nil, false
		}
		if kind == 3 && desc > 0 && bytes.Equal(b[:name], []byte("GNU\x00")) {
			return b[pad4(name) : pad4(name)+desc], true
		}
		b = b[end:]
	}
	return nil, false
}

func pad4(n int64) int64 { return (n + 3) &^ 3 }

// versionOf is the version of an open executable.
func versionOf(r io.ReaderAt, size int64, modified time.Time) Version {
	id, ok := BuildID(r)
	if !ok {
		return fileVersion(size, modified)
	}
	text := hex.EncodeToString(id)
	return Version{ID: text[:min(len(text), idDigits)], Modified: modified}
}
