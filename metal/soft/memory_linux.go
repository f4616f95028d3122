package soft

import "golang.org/x/sys/unix"

// discardAdvice takes effect at once, so that the resident size falls now
// (MADV_FREE would wait for memory pressure).
const discardAdvice = unix.MADV_DONTNEED

// machineMemory is the machine's memory in bytes.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return fallbackMemory
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
