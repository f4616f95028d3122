package soft

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// memReset of winnt.h: the contents are no longer of interest.
const memReset = 0x80000

// mapMemory reserves and commits n zeroed bytes.
func mapMemory(n int) ([]byte, error) {
	p, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE|windows.MEM_COMMIT,
		windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	// The address is of VirtualAlloc, which the garbage collector never moves.
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n), nil
}

func unmapMemory(p []byte) error {
	return windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(p))), 0, windows.MEM_RELEASE)
}

// discardMemory lets the system drop the pages. To decommit them would give
// them back at once, but a kernel that still runs would fault.
func discardMemory(p []byte) error {
	_, err := windows.VirtualAlloc(uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), memReset,
		windows.PAGE_READWRITE)
	return err
}

// machineMemory has no reader here.
func machineMemory() uint64 { return fallbackMemory }
