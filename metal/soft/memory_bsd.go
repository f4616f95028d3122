//go:build unix && !linux && !darwin

package soft

import "golang.org/x/sys/unix"

// discardMemory gives the pages back to the system; they read as zero or as
// what they held afterwards.
func discardMemory(p []byte) error { return unix.Madvise(p, unix.MADV_DONTNEED) }

// machineMemory has no reader here.
func machineMemory() uint64 { return fallbackMemory }
