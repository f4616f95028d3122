//go:build unix

package gguf

import (
	"fmt"
	"os"
	"syscall"
)

// mapFile maps the whole file for reading; release gives the mapping up.
func mapFile(f *os.File, size int64) (memory []byte, release func() error, err error) {
	if size <= 0 || int64(int(size)) != size {
		return nil, nil, fmt.Errorf("map %d bytes: not a size that can be mapped", size)
	}
	memory, err = syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return memory, func() error { return syscall.Munmap(memory) }, nil
}
