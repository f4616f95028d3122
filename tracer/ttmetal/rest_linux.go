package ttmetal

import (
	"syscall"
	"unsafe"
)

// restMapped takes a chunk that is mapped from a file out of this process's
// memory. It comes back from the file when it is touched.
func restMapped(chunk []slot) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(chunk))), chunkSize)
	syscall.Madvise(b, syscall.MADV_DONTNEED) //nolint:errcheck // then it stays in memory, which is no fault
}
