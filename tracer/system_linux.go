package tracer

import (
	"bytes"
	"fmt"
	"os"

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

// environment is what a process was started with, or nil.
func environment(pid int) map[string]string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for entry := range bytes.SplitSeq(data, []byte{0}) {
		name, value, _ := bytes.Cut(entry, []byte("="))
		found[string(name)] = string(value)
	}
	return found
}

// commandLine is the command of a process that runs, or nil.
func commandLine(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(data) == 0 {
		return nil
	}
	var args []string
	for _, arg := range bytes.Split(bytes.TrimSuffix(data, []byte{0}), []byte{0}) {
		args = append(args, string(arg))
	}
	return args
}
