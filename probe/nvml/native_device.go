//go:build (linux || windows) && (amd64 || arm64) && !nodl

package nvml

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unsafe"
)

// globalText calls a function that takes a buffer and its length only.
func (n *native) globalText(s symbol) string {
	if !n.t.has(s) {
		return ""
	}
	b := make([]byte, 128)
	if n.t.callGlobal(s, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b))) != codeSuccess {
		return ""
	}
	return text(b)
}

// device describes a device as it is now.
func (n *native) device(i int) Device {
	d := n.devices[i]
	out := Device{Index: i, TotalBytes: Unknown, UsedBytes: Unknown, FreeBytes: Unknown,
		ReservedBytes: Unknown}
	if d.err != codeSuccess {
		out.Notes = append(out.Notes, explain(d.err).text)
		return out
	}
	out.Name = n.deviceText(symName, d.h)
	out.UUID = n.deviceText(symUUID, d.h)
	out.PCI = n.pci(d.h)
	m, c := n.memory(d.h)
	out.TotalBytes, out.UsedBytes, out.FreeBytes, out.ReservedBytes = m.total, m.used, m.free, m.reserved
	out.Accounting = n.accounting(d.h)
	out.MIG = n.split(d.h)
	out.Notes = append(out.Notes, memoryNotes(out, c)...)
	for _, part := range d.instances {
		pm, _ := n.memory(part.h)
		out.Instances = append(out.Instances, Instance{GPUInstance: part.gpu, ComputeInstance: part.compute,
			UUID: n.deviceText(symUUID, part.h), TotalBytes: pm.total, UsedBytes: pm.used})
	}
	if out.MIG && len(d.instances) == 0 {
		out.Notes = append(out.Notes, "MIG is on, but no instance is visible to this process")
	}
	return out
}

// memoryNotes explains what is missing from a device's memory figures.
func memoryNotes(d Device, c Code) []string {
	var notes []string
	switch {
	case c == codeNoPermission && d.MIG:
		notes = append(notes,
			"memory figures of the whole device are told to root only; those of its MIG instances are known")
	case c == codeNotSupported:
		notes = append(notes, "memory figures not supported: an integrated GPU uses host memory")
	case c != codeSuccess:
		notes = append(notes, fmt.Sprintf("memory figures: %s (code %d)", explain(c).text, c))
	case d.ReservedBytes == Unknown:
		notes = append(notes, "used bytes include what the driver reserves: it is too old to tell them apart")
	}
	if coherent(d.Name) {
		notes = append(notes,
			"device memory is a node of the host's memory: used bytes come from the operating system and "+
				"may stay after a process has ended")
	}
	return notes
}

// coherent reports whether a device of this name shares an address space with
// its host processor (Grace). NVML has no call that every such driver answers.
func coherent(name string) bool {
	for _, part := range []string{"GH200", "GB200", "GB300", "GB10"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func (n *native) deviceText(s symbol, h handle) string {
	t, c := n.t.callText(s, h)
	if c != codeSuccess {
		return ""
	}
	return t
}

func (n *native) pci(h handle) string {
	b := make([]byte, pciSize)
	if n.t.call1(symPCI, h, unsafe.Pointer(&b[0])) != codeSuccess {
		return ""
	}
	return normalPCI(text(b[pciBusID:]))
}

// memory asks the newer call, then the older one.
func (n *native) memory(h handle) (memory, Code) {
	b := make([]byte, memoryV2Size)
	binary.NativeEndian.PutUint32(b, memoryV2Word)
	c := n.t.call1(symMemoryV2, h, unsafe.Pointer(&b[0]))
	if c == codeSuccess {
		return decodeMemoryV2(b), c
	}
	if c != codeFunctionNotFound && c != codeArgumentVersion && c != codeNotSupported {
		return unknownMemory(), c
	}
	clear(b)
	if c = n.t.call1(symMemory, h, unsafe.Pointer(&b[0])); c != codeSuccess {
		return unknownMemory(), c
	}
	return decodeMemory(b), c
}
