//go:build (linux || windows) && (amd64 || arm64) && !nodl

package nvml

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gpumem/gpumem/internal/loader"
)

// symbol is a function of the library, whatever the version of its name.
type symbol int

const (
	symInit symbol = iota
	symShutdown
	symCount
	symHandle
	symDriverVersion
	symName
	symUUID
	symPCI
	symMemoryV2
	symMemory
	symCompute
	symGraphics
	symMPS
	symMIGMode
	symMIGCount
	symMIGHandle
	symGPUInstance
	symComputeInstance
	symAccountingMode
	symAccountingPIDs
	symAccountingStats
	symUtilization
	symTemperature
	symPower
	symPowerLimit
	symClock
	symbols // number of symbols
)

// required are the symbols without which nothing can be done; every driver of
// the last twelve years has them.
const required = symHandle

// names returns the exported names of a symbol, newest first.
func (s symbol) names() []string {
	switch s {
	case symInit:
		return []string{"nvmlInit_v2", "nvmlInit"}
	case symShutdown:
		return []string{"nvmlShutdown"}
	case symCount:
		return []string{"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}
	case symHandle:
		return []string{"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}
	case symDriverVersion:
		return []string{"nvmlSystemGetDriverVersion"}
	case symName:
		return []string{"nvmlDeviceGetName"}
	case symUUID:
		return []string{"nvmlDeviceGetUUID"}
	case symPCI:
		return []string{"nvmlDeviceGetPciInfo_v3"}
	case symMemoryV2:
		return []string{"nvmlDeviceGetMemoryInfo_v2"}
	case symMemory:
		return []string{"nvmlDeviceGetMemoryInfo"}
	case symCompute:
		return versions("nvmlDeviceGetComputeRunningProcesses")
	case symGraphics:
		return versions("nvmlDeviceGetGraphicsRunningProcesses")
	case symMPS:
		return versions("nvmlDeviceGetMPSComputeRunningProcesses")
	case symMIGMode:
		return []string{"nvmlDeviceGetMigMode"}
	case symMIGCount:
		return []string{"nvmlDeviceGetMaxMigDeviceCount"}
	case symMIGHandle:
		return []string{"nvmlDeviceGetMigDeviceHandleByIndex"}
	case symGPUInstance:
		return []string{"nvmlDeviceGetGpuInstanceId"}
	case symComputeInstance:
		return []string{"nvmlDeviceGetComputeInstanceId"}
	case symAccountingMode:
		return []string{"nvmlDeviceGetAccountingMode"}
	case symAccountingPIDs:
		return []string{"nvmlDeviceGetAccountingPids"}
	case symAccountingStats:
		return []string{"nvmlDeviceGetAccountingStats"}
	case symUtilization:
		return []string{"nvmlDeviceGetUtilizationRates"}
	case symTemperature:
		return []string{"nvmlDeviceGetTemperature"}
	case symPower:
		return []string{"nvmlDeviceGetPowerUsage"}
	case symPowerLimit:
		return []string{"nvmlDeviceGetEnforcedPowerLimit"}
	case symClock:
		return []string{"nvmlDeviceGetClockInfo"}
	}
	return nil
}

// versions are the three names of a process list. The first two take the
// 24-byte entry, the unsuffixed one the 16-byte entry.
func versions(name string) []string { return []string{name + "_v3", name + "_v2", name} }

// entry is one resolved symbol: its address, 0 when the library lacks it, and
// for a process list the size of what it writes for each process.
type entry struct {
	address uintptr
	size    int
}

// table is a loaded library. It is immutable once loaded.
type table struct {
	handle  loader.Library
	entries [symbols]entry
}

// load opens the library and looks every symbol up. Symbols are looked up one
// by one because purego's registration panics on a missing one.
func load(o Options) (*table, error) {
	handle, err := openLibrary(o.Library)
	if err != nil {
		return nil, err
	}
	t := &table{handle: handle}
	for s := range symbols {
		for _, name := range s.names() {
			if address := handle.Lookup(name); address != 0 {
				t.entries[s] = entry{address, entrySize(name)}
				break
			}
		}
		if s <= required && t.entries[s].address == 0 {
			handle.Close()
			return nil, &Error{Op: "load the library", Device: -1, is: ErrNoLibrary,
				Text: "it has no symbol " + s.names()[0], Hint: "name NVIDIA's own library"}
		}
	}
	return t, nil
}

// has reports whether the library has the symbol.
func (t *table) has(s symbol) bool { return t.entries[s].address != 0 }

// entrySize is the size of an entry of a process list of this name.
func entrySize(name string) int {
	if strings.HasSuffix(name, "_v3") || strings.HasSuffix(name, "_v2") {
		return processV2Size
	}
	return processV1Size
}

// handle is the library's name for a device or an instance.
type handle uintptr

// call1 calls a function of a handle and one pointer. Handing the pointer to
// purego moves its object to the heap, where it stays in place.
func (t *table) call1(s symbol, h handle, out unsafe.Pointer) Code {
	fn := t.entries[s].address
	if fn == 0 {
		return codeFunctionNotFound
	}
	r, _, _ := purego.SyscallN(fn, uintptr(h), uintptr(out))
	runtime.KeepAlive(out)
	return Code(uint32(r))
}

// call2 calls a function of a handle and two more words or pointers.
func (t *table) call2(s symbol, h handle, a, b unsafe.Pointer) Code {
	fn := t.entries[s].address
	if fn == 0 {
		return codeFunctionNotFound
	}
	r, _, _ := purego.SyscallN(fn, uintptr(h), uintptr(a), uintptr(b))
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	return Code(uint32(r))
}

// callList calls a process list. It is the hot call: its words lie in the
// device, so that nothing is allocated, and the device keeps the objects that
// they point to, which the collector never moves.
func (t *table) callList(s symbol, h handle, d *nativeDevice) Code {
	d.words = [3]uintptr{uintptr(h), uintptr(unsafe.Pointer(d.count)), uintptr(unsafe.Pointer(&d.room[0]))}
	r, _, _ := purego.SyscallN(t.entries[s].address, d.words[:]...)
	runtime.KeepAlive(d)
	return Code(uint32(r))
}

// callIndex calls a function of a handle, a number and one pointer.
func (t *table) callIndex(s symbol, h handle, n uintptr, out unsafe.Pointer) Code {
	fn := t.entries[s].address
	if fn == 0 {
		return codeFunctionNotFound
	}
	r, _, _ := purego.SyscallN(fn, uintptr(h), n, uintptr(out))
	runtime.KeepAlive(out)
	return Code(uint32(r))
}

// callText calls a function of a handle that fills a buffer with text.
func (t *table) callText(s symbol, h handle) (string, Code) {
	fn := t.entries[s].address
	if fn == 0 {
		return "", codeFunctionNotFound
	}
	b := make([]byte, 128)
	r, _, _ := purego.SyscallN(fn, uintptr(h), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	runtime.KeepAlive(b)
	return text(b), Code(uint32(r))
}

// callGlobal calls a function without a handle. Pointers among args must be
// converted in the call expression itself, which keeps their objects in place.
//
//go:uintptrescapes
func (t *table) callGlobal(s symbol, args ...uintptr) Code {
	fn := t.entries[s].address
	if fn == 0 {
		return codeFunctionNotFound
	}
	r, _, _ := purego.SyscallN(fn, args...)
	return Code(uint32(r))
}
