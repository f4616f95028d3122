package soft

import "golang.org/x/sys/unix"

// discardMemory gives the pages back to the system now; they read as zero
// afterwards. MADV_FREE would wait until the system is short of memory.
func discardMemory(p []byte) error { return unix.Madvise(p, unix.MADV_DONTNEED) }

// machineMemory is the machine's memory in bytes.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return fallbackMemory
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
