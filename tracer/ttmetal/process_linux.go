package ttmetal

import (
	"bytes"
	"os"

	"github.com/gpumem/gpumem/probe/procfs"
)

// proc is the proc file system of this machine.
const proc procfs.Dir = ""

// Start is field 22 of /proc/PID/stat: the time since boot in clock ticks.
func (System) Start(pid int32) uint64 {
	text, err := proc.Read(int(pid), "stat")
	if err != nil {
		return 0
	}
	s, ok := procfs.ParseStat(text)
	if !ok {
		return 0
	}
	return uint64(s.Start)
}

// bootID tells one boot of the machine from another.
func bootID() string {
	text, err := os.ReadFile(proc.Process("sys/kernel/random/boot_id"))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}
