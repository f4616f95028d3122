package soft

import "golang.org/x/sys/unix"

// discardAdvice: on macOS MADV_DONTNEED keeps dirty pages; MADV_FREE lets the
// system take them, and the footprint stops counting them when it does.
const discardAdvice = unix.MADV_FREE

// machineMemory is the machine's memory in bytes.
func machineMemory() uint64 {
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		return n
	}
	return fallbackMemory
}
