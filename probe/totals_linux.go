package probe

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/probe/procfs"
)

func (m Machine) cgroup() string {
	if m.Cgroup == "" {
		return "/sys/fs/cgroup"
	}
	return m.Cgroup
}

// ReadTotals reads the totals of the machine for one of its processes; pid 0
// is this process. The error is for a machine that tells nothing at all; a
// single number that cannot be read is Unknown.
func (m Machine) ReadTotals(pid int) (Totals, error) {
	t := Totals{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown}
	info, err := os.ReadFile(filepath.Join(m.proc(), "meminfo"))
	if err != nil {
		return t, fmt.Errorf("read memory of the machine: %w", err)
	}
	mem := procfs.ParseMeminfo(info)
	t.Memory, t.Available, t.SwapTotal, t.SwapFree = mem.Total, mem.Available, mem.SwapTotal, mem.SwapFree
	t.CgroupLimit, t.CgroupUsage = m.cgroupMemory(pid)
	return t, nil
}

// cgroupMemory finds the smallest limit around a process, in both versions of
// control groups; on a machine with both the memory controller is in one.
func (m Machine) cgroupMemory(pid int) (limit, usage int64) {
	who := "self"
	if pid > 0 {
		who = strconv.Itoa(pid)
	}
	groups, err := os.ReadFile(filepath.Join(m.proc(), who, "cgroup"))
	if err != nil {
		return Unknown, Unknown
	}
	limit, usage = Unknown, Unknown
	for _, g := range procfs.ParseCgroups(groups) {
		l, u := Unknown, Unknown
		switch {
		case g.Hierarchy == 0 && len(g.Controllers) == 0:
			l, u = smallest(m.cgroup(), g.Path, "memory.max", "memory.current")
			if l == Unknown {
				l, u = smallest(filepath.Join(m.cgroup(), "unified"), g.Path, "memory.max", "memory.current")
			}
		case slices.Contains(g.Controllers, "memory"):
			l, u = smallest(filepath.Join(m.cgroup(), "memory"), g.Path, "memory.limit_in_bytes",
				"memory.usage_in_bytes")
		}
		if l != Unknown && (limit == Unknown || l < limit) {
			limit, usage = l, u
		}
	}
	return limit, usage
}

// smallest walks from a group up to its mount point. In a container the group
// may be named as the host sees it and not be there; the mount point then is
// the container's own group.
func smallest(mount, group, limitFile, usageFile string) (limit, usage int64) {
	limit, usage = Unknown, Unknown
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		dir := filepath.Join(mount, group)
		// Version 1 says "no limit" by a number near 2^63, version 2 by max.
		if l := readNumber(filepath.Join(dir, limitFile)); l != Unknown && l < 1<<60 &&
			(limit == Unknown || l < limit) {
			limit, usage = l, readNumber(filepath.Join(dir, usageFile))
		}
		if group == "/" {
			return limit, usage
		}
	}
}

// readNumber reads a file that holds one number.
func readNumber(path string) int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return Unknown
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || n < 0 {
		return Unknown
	}
	return n
}
