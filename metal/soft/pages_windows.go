package soft

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// reserveMemory reserves n bytes, which cost nothing until they are committed.
func reserveMemory(n int) ([]byte, error) {
	p, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	// The address is of VirtualAlloc, which the garbage collector never moves.
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), n), nil
}

// commitMemory makes a part of reserved memory usable; it reads as zero.
func commitMemory(p []byte) error {
	_, err := windows.VirtualAlloc(uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
		windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err
}

// decommitMemory gives the pages back.
func decommitMemory(p []byte) error {
	return windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
		windows.MEM_DECOMMIT)
}
