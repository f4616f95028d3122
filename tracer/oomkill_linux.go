package tracer

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Where the system tells of control groups.
const (
	ownGroups  = "/proc/self/cgroup"
	groupsRoot = "/sys/fs/cgroup"
)

// oomKills is how many processes the kernel has killed for want of memory in our
// control group. The files are those of procfs and of the control groups' mount; a
// group of version 2 is asked first, then one of version 1. It reports false where
// neither tells.
func oomKills(groups, root string) (int64, bool) {
	text, err := os.ReadFile(groups)
	if err != nil {
		return 0, false
	}
	var files []string
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		switch {
		case number == "0" && controllers == "": // version 2
			files = append([]string{filepath.Join(root, path, "memory.events")}, files...)
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			// A container sees its own group as the mount's root.
			files = append(files, filepath.Join(root, "memory", path, "memory.oom_control"),
				filepath.Join(root, "memory", "memory.oom_control"))
		}
	}
	for _, file := range files {
		if n, ok := killsIn(file); ok {
			return n, true
		}
	}
	return 0, false
}

// killsIn is the number behind oom_kill in a file of a control group.
func killsIn(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			n, err := strconv.ParseInt(count, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
