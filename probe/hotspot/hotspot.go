package hotspot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
)

// Unknown stands for a number that the machine does not tell. It is never 0.
const Unknown int64 = -1

// The file has UsualBytes, unless -XX:PerfDataMemorySize says else; MostBytes bounds what is
// to be read of it.
const (
	UsualBytes = 32<<10 + 1 // so that a reader sees its end
	MostBytes  = 1 << 20
)

// Heap is what a machine tells of the heap that it collects; each may be Unknown.
type Heap struct {
	// Reserved is the address space of the heap, in bytes.
	Reserved int64
	// Kept is what the last collection left in it, in bytes, and what was promoted past
	// it: all but the space in which new objects are made. Objects that died old are in
	// it until the old ones are collected.
	Kept int64
	// Collections and Full are how many there were, and how many of them were of the old
	// objects or a step of such a one.
	Collections, Full int64
}

// UnknownHeap is a Heap of which nothing is known.
func UnknownHeap() Heap { return Heap{Unknown, Unknown, Unknown, Unknown} }

const (
	page     = 4 << 10
	prologue = 32 // magic, order of bytes, version, access, used, overflow, time, entries, their number
	head     = 20 // of an entry: length, name, elements, type, flags, unit, variability, value
	magic    = 0xcafec0c0
	long     = 'J'
	byteType = 'B'
	// mostEntries bounds those that are read. Machines have some 200 to 300.
	mostEntries = 8192
	// mostHeap bounds a figure that is believed: 256 TiB, so that sums of them fit.
	mostHeap = 1 << 48
)

var errForm = errors.New("counters of a Java virtual machine are not in the form expected")

// Parse reads the counters of a machine from its file. It does not panic on any input, and
// allocates nothing that the input chooses the size of. A machine that is just starting has
// none yet: that is an error.
func Parse(b []byte) (Heap, error) {
	order, entries, n, err := parsePrologue(b)
	if err != nil {
		return UnknownHeap(), err
	}
	h := newFigures()
	for range n {
		if len(entries) < head {
			return UnknownHeap(), errForm
		}
		length := int(int32(order.Uint32(entries)))
		if length < head || length > len(entries) {
			return UnknownHeap(), errForm
		}
		h.take(order, entries[:length])
		entries = entries[length:]
	}
	return h.heap(), nil
}

// parsePrologue reads the beginning: the order of bytes, the entries and their number.
func parsePrologue(b []byte) (binary.ByteOrder, []byte, int, error) {
	if len(b) < prologue || binary.BigEndian.Uint32(b) != magic {
		return nil, nil, 0, errForm
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[4] == 0 {
		order = binary.BigEndian
	}
	major, accessible := b[5], b[7]
	from, n := int64(order.Uint32(b[24:])), int64(order.Uint32(b[28:]))
	if major != 2 || accessible == 0 || from < prologue || from > int64(len(b)) || n > mostEntries {
		return nil, nil, 0, errForm
	}
	return order, b[from:], int(n), nil
}

// figures are the counters of which a heap is made up.
type figures struct {
	policy      string
	reserved    [2]int64 // of the young and the old generation
	kept        int64    // Unknown until a space has told
	collections [3]int64
}

func newFigures() *figures {
	return &figures{reserved: [2]int64{Unknown, Unknown}, kept: Unknown,
		collections: [3]int64{Unknown, Unknown, Unknown}}
}

// take takes an entry, or leaves it.
func (f *figures) take(order binary.ByteOrder, e []byte) {
	name, kind, at := int64(order.Uint32(e[4:])), e[12], int64(order.Uint32(e[16:]))
	if name < head || name > int64(len(e)) || at < head || at > int64(len(e)) {
		return
	}
	key, _, ok := bytes.Cut(e[name:], []byte{0})
	rest, isGC := bytes.CutPrefix(key, []byte("sun.gc."))
	if !ok || !isGC {
		return
	}
	elements := order.Uint32(e[8:])
	switch {
	case kind == byteType && string(rest) == "policy.name":
		name, _, _ := bytes.Cut(e[at:], []byte{0})
		f.policy = string(name[:min(len(name), 64)])
	case kind == long && elements == 0 && len(e)-int(at) >= 8:
		if v := int64(order.Uint64(e[at:])); v >= 0 && v <= mostHeap {
			f.number(string(rest), v)
		}
	}
}

// number takes a counter by its name without "sun.gc.".
func (f *figures) number(name string, v int64) {
	switch name {
	case "generation.0.maxCapacity":
		f.reserved[0] = v
	case "generation.1.maxCapacity":
		f.reserved[1] = v
	case "collector.0.invocations":
		f.collections[0] = v
	case "collector.1.invocations":
		f.collections[1] = v
	case "collector.2.invocations":
		f.collections[2] = v
	case "generation.0.space.0.used": // where new objects are made
	default:
		if strings.HasPrefix(name, "generation.") && strings.HasSuffix(name, ".used") {
			f.kept = max(f.kept, 0) + v
		}
	}
}

// heap puts the counters together. The collectors of which that is known have a young and an
// old generation, and new objects in the first space of the young one.
func (f *figures) heap() Heap {
	h := UnknownHeap()
	young, old := f.reserved[0], f.reserved[1]
	if young == Unknown || old == Unknown {
		return h
	}
	switch f.policy {
	case "GarbageFirst": // either generation may take all of it; 8 bytes keep figures from 0
		h.Reserved = max(young, old)
	case "ParScav:MSC", "Copy:MSC": // parallel and serial: each has its part
		h.Reserved = young + old
	default:
		return h
	}
	h.Reserved &^= page - 1
	h.Kept, h.Collections = f.kept, f.collections[0]
	for _, n := range f.collections[1:] {
		if n != Unknown {
			h.Full = max(h.Full, 0) + n
		}
	}
	if h.Collections != Unknown {
		h.Collections += max(h.Full, 0)
	}
	return h
}
