package tracer

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
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
func environment(pid int) []string { return procStrings(pid, "environ") }

// commandLine is the command of a process that runs, or nil: a kernel's thread
// has none, and neither has a process in the middle of its exec.
func commandLine(pid int) []string { return procStrings(pid, "cmdline") }

// procStrings are the strings, each closed by a zero, of a file of a process.
func procStrings(pid int, file string) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
