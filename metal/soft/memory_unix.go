//go:build unix

package soft

import "golang.org/x/sys/unix"

// mapMemory maps n zeroed bytes, a multiple of the page size.
func mapMemory(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func unmapMemory(p []byte) error { return unix.Munmap(p) }
