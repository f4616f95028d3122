package tensor

import "unsafe"

// bytesOf is the memory of values, which the caller keeps. Every supported
// system is little-endian, as the kernels are.
func bytesOf[T float32 | uint16 | uint64](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))),
		len(values)*int(unsafe.Sizeof(values[0])))
}
