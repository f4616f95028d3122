package procfs

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseStrings splits the strings of cmdline and environ, each closed by a zero.
// It returns nil for an empty file: a thread of the kernel has neither, nor has
// a process in the middle of its exec.
func ParseStrings(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// Cgroup is one line of /proc/PID/cgroup: a process's group in one hierarchy.
type Cgroup struct {
	Hierarchy   int      // 0 is version 2's
	Controllers []string // none in version 2
	Path        string   // below the hierarchy's mount point
}

// ParseCgroups reads /proc/PID/cgroup; lines of another form are left out.
func ParseCgroups(b []byte) []Cgroup {
	var list []Cgroup
	for len(b) > 0 {
		var line []byte
		line, b = Line(b)
		// hierarchy:controllers:path
		number, rest, ok := strings.Cut(strings.TrimSpace(string(line)), ":")
		controllers, path, ok2 := strings.Cut(rest, ":")
		hierarchy, err := strconv.ParseUint(number, 10, 31)
		if !ok || !ok2 || err != nil {
			continue
		}
		g := Cgroup{Hierarchy: int(hierarchy), Path: path}
		if controllers != "" {
			g.Controllers = strings.Split(controllers, ",")
		}
		list = append(list, g)
	}
	return list
}

// Meminfo is what /proc/meminfo tells, in bytes; each may be Unknown.
type Meminfo struct{ Total, Available, SwapTotal, SwapFree int64 }

// ParseMeminfo reads /proc/meminfo.
func ParseMeminfo(b []byte) Meminfo {
	m := Meminfo{Unknown, Unknown, Unknown, Unknown}
	for len(b) > 0 {
		var line []byte
		line, b = Line(b)
		key, value, ok := Field(line)
		if !ok {
			continue
		}
		switch string(key) {
		case "MemTotal":
			m.Total = kib(value)
		case "MemAvailable":
			m.Available = kib(value)
		case "SwapTotal":
			m.SwapTotal = kib(value)
		case "SwapFree":
			m.SwapFree = kib(value)
		}
	}
	return m
}

// ParseUptime reads how long the machine has run out of /proc/uptime; false for
// a text of another form.
func ParseUptime(b []byte) (time.Duration, bool) {
	word, _, _ := bytes.Cut(b, []byte(" "))
	seconds, err := strconv.ParseFloat(string(bytes.TrimSpace(word)), 64)
	if err != nil || !(seconds >= 0 && seconds < math.MaxInt64/float64(time.Second)) {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
