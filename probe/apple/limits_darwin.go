package apple

import (
	"golang.org/x/sys/unix"
)

// gpuLimits are what the GPU may wire, in MiB, and how many buffers may exist;
// 0 means the system's own choice, Unknown that there is no such setting.
func gpuLimits() (wired, buffers int64) {
	read := func(name string) int64 {
		b, err := unix.SysctlRaw(name)
		if err != nil {
			return Unknown
		}
		return parseNumber(b)
	}
	return read("iogpu.wired_limit_mb"), read("iogpu.rsrc_limit")
}
