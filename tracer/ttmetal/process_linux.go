package ttmetal

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Start is field 22 of /proc/PID/stat: the time since boot in clock ticks.
func (System) Start(pid int32) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything, also parentheses.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const startTime = 22 - 3 // the fields after the name begin with the third
	if len(fields) <= startTime {
		return 0
	}
	v, err := strconv.ParseUint(string(fields[startTime]), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// bootID tells one boot of the machine from another.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}
