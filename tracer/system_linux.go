package tracer

import (
	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe/procfs"
)

// kernelRelease is the version of the kernel, or empty.
func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// environment is what a process was started with, NAME=value each, or nil.
func environment(pid int) []string { return procfs.Dir("").Strings(pid, "environ") }

// commandLine is the command of a process that runs, or nil: a kernel's thread
// has none, and neither has a process in the middle of its exec.
func commandLine(pid int) []string { return procfs.Dir("").Strings(pid, "cmdline") }
