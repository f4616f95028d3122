package capture

import (
	"debug/elf"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// machine is the processor that the interposer is built for.
var machine = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]

// raised reports whether starting a program changes its privileges, for which
// the loader drops LD_PRELOAD. Root starting a program of root's does not.
func raised(path string) bool {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return false
	}
	if st.Mode&unix.S_ISUID != 0 && int(st.Uid) != os.Getuid() {
		return true
	}
	if st.Mode&unix.S_ISGID != 0 && st.Mode&unix.S_IXGRP != 0 && int(st.Gid) != os.Getgid() {
		return true
	}
	n, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil && n > 0 && os.Getuid() != 0
}
