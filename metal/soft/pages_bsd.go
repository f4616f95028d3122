//go:build unix && !linux

package soft

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// decommitMemory maps fresh pages over the old ones, in one step: what is read
// next is zero.
func decommitMemory(p []byte) error {
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(p)), uintptr(len(p)),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED)
	return err
}

// smallPages: the system uses no huge pages by itself.
func smallPages([]byte) {}
