package nvml

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// Sizes and version words of the library's structures on 64-bit machines. A
// version word is the size with the version in the top byte.
const (
	processV1Size  = 16 // pid@0, used@8
	processV2Size  = 24 // and gpu instance@16, compute instance@20; _v2 and _v3
	memorySize     = 24 // total@0, free@8, used@16; used includes reserved
	memoryV2Size   = 40 // version@0, total@8, reserved@16, free@24, used@32
	memoryV2Word   = memoryV2Size | 2<<24
	accountingSize = 56 // peak@8, time@16, start@24, running@32
	pciSize        = 68 // bus id@36
	pciBusID       = 36
)

// memory is a device's memory as one of the two calls gives it.
type memory struct{ total, used, free, reserved int64 }

func unknownMemory() memory { return memory{Unknown, Unknown, Unknown, Unknown} }

// known turns the driver's number into ours. Whatever does not fit into an
// int64 is no number of bytes, most of all the driver's N/A, in which every bit is set.
func known(v uint64) int64 {
	if v > math.MaxInt64 {
		return Unknown
	}
	return int64(v)
}

func instance(v uint32) int {
	if v > math.MaxInt32 {
		return NoInstance
	}
	return int(v)
}

// decodeMemory reads the older structure, in which reserved is part of used.
func decodeMemory(b []byte) memory {
	if len(b) < memorySize {
		return unknownMemory()
	}
	u := binary.NativeEndian.Uint64
	return memory{total: known(u(b)), free: known(u(b[8:])), used: known(u(b[16:])), reserved: Unknown}
}

// decodeMemoryV2 reads the newer structure, which keeps reserved apart.
func decodeMemoryV2(b []byte) memory {
	if len(b) < memoryV2Size {
		return unknownMemory()
	}
	u := binary.NativeEndian.Uint64
	return memory{total: known(u(b[8:])), reserved: known(u(b[16:])), free: known(u(b[24:])),
		used: known(u(b[32:]))}
}

// decodeProcess reads entry i of a list whose entries have the given size.
// An entry beyond the buffer is reported as absent: a library that claims
// more than it was given room for must not be believed.
func decodeProcess(b []byte, i, size int) (Process, bool) {
	if i < 0 || (size != processV1Size && size != processV2Size) || i >= len(b)/size {
		return Process{}, false
	}
	e := b[i*size : (i+1)*size]
	p := Process{
		PID:             int(binary.NativeEndian.Uint32(e)),
		Bytes:           known(binary.NativeEndian.Uint64(e[8:])),
		GPUInstance:     NoInstance,
		ComputeInstance: NoInstance,
	}
	if size == processV2Size {
		p.GPUInstance = instance(binary.NativeEndian.Uint32(e[16:]))
		p.ComputeInstance = instance(binary.NativeEndian.Uint32(e[20:]))
	}
	return p, true
}

// decodePeak reads nvmlAccountingStats_t.
func decodePeak(b []byte) Peak {
	if len(b) < accountingSize {
		return Peak{PeakBytes: Unknown}
	}
	return Peak{
		PeakBytes:  known(binary.NativeEndian.Uint64(b[8:])),
		TimeMillis: known(binary.NativeEndian.Uint64(b[16:])),
		Running:    binary.NativeEndian.Uint32(b[32:]) != 0,
	}
}

// text reads a C string out of a buffer that may lack its terminator.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.ToValidUTF8(string(b), "?")
}

// normalPCI writes a bus id as the kernel does: lower case, and a domain of
// four digits where the library writes eight.
func normalPCI(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if domain, rest, ok := strings.Cut(s, ":"); ok && len(domain) == 8 && strings.HasPrefix(domain, "0000") {
		return domain[4:] + ":" + rest
	}
	return s
}

// merge folds p into list, which holds one entry for each process, device
// and instance. A process that stands in two of the driver's lists is charged
// for the same memory in both, so the greater figure counts, not the sum.
func merge(list []Process, p Process) []Process {
	for i := range list {
		q := &list[i]
		if q.PID == p.PID && q.Device == p.Device && q.GPUInstance == p.GPUInstance &&
			q.ComputeInstance == p.ComputeInstance {
			q.Kind |= p.Kind
			q.Bytes = max(q.Bytes, p.Bytes)
			return list
		}
	}
	return append(list, p)
}

// dropParents removes, on a split device, the entries without an instance of
// processes that also stand in an instance: the parent repeats them.
func dropParents(list []Process) []Process {
	kept := list[:0]
	for _, p := range list {
		if p.GPUInstance != NoInstance || !inInstance(list, p.PID) {
			kept = append(kept, p)
		}
	}
	return kept
}

func inInstance(list []Process, pid int) bool {
	for _, p := range list {
		if p.PID == pid && p.GPUInstance != NoInstance {
			return true
		}
	}
	return false
}
