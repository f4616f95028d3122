//go:build unix && !linux && !darwin

package soft

import "golang.org/x/sys/unix"

const discardAdvice = unix.MADV_DONTNEED

// machineMemory has no reader here.
func machineMemory() uint64 { return fallbackMemory }
