package soft

import "golang.org/x/sys/unix"

// decommitMemory gives the pages back; what is read next is zero.
func decommitMemory(p []byte) error { return discardMemory(p) }

// smallPages keeps huge pages away: with them one touched buffer would make
// 2 MiB of its neighbours resident. A kernel without them needs no advice.
func smallPages(p []byte) { _ = unix.Madvise(p, unix.MADV_NOHUGEPAGE) }
