package soft

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// discardMemory gives the pages back to the system now, by new ones mapped over
// them: on macOS MADV_DONTNEED keeps dirty pages, and what MADV_FREE marks
// counts as resident until the system is short of memory.
func discardMemory(p []byte) error {
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(p)), uintptr(len(p)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED)
	return err
}

// machineMemory is the machine's memory in bytes.
func machineMemory() uint64 {
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		return n
	}
	return fallbackMemory
}
