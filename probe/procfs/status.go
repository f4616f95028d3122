package procfs

import (
	"bytes"
	"strconv"
)

// Memory is what /proc/PID/status tells of a process's memory, in bytes, and how many
// threads share it; each may be Unknown. Reserved is private memory that it may write,
// touched or not (VmData). Huge are pages of hugetlbfs, which RSS does not have. Kernels
// before 4.5 do not split RSS.
type Memory struct{ RSS, Anon, File, Shmem, Reserved, Swap, Huge, Threads int64 }

// Footprint is what the machine gets back when the process ends; Unknown where the kernel
// does not tell enough. Clean pages of files are the system's; before Linux 4.5 nobody
// told them apart.
func (m *Memory) Footprint() int64 {
	switch {
	case m.Swap == Unknown || m.RSS == Unknown:
		return Unknown
	case m.Anon != Unknown && m.Shmem != Unknown:
		return m.Anon + m.Shmem + m.Swap + max(m.Huge, 0)
	}
	return m.RSS + m.Swap + max(m.Huge, 0)
}

// Status is what /proc/PID/status tells.
type Status struct {
	Memory
	// Group is the process that a thread belongs to, its own pid for a process;
	// 0 when not told. UID is the effective user, Unknown when not told.
	Group, UID int
	// Capabilities are the effective ones, a bit for each; 0 when not told.
	Capabilities uint64
}

func unknownMemory() Memory {
	return Memory{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown}
}

// ParseMemory reads the memory out of /proc/PID/status and stops after the last
// figure that matters.
func ParseMemory(b []byte) Memory {
	m := unknownMemory()
	for len(b) > 0 {
		var line []byte
		line, b = Line(b)
		if len(line) < len("VmRSS:") || bytes.IndexByte([]byte("VRHT"), line[0]) < 0 {
			continue
		}
		if i := bytes.IndexByte(line, ':'); i > 0 && m.set(line[:i], line[i+1:]) {
			break
		}
	}
	return m
}

// set takes a figure over; last is true after the one that comes last.
func (m *Memory) set(key, value []byte) (last bool) {
	switch string(key) {
	case "VmRSS":
		m.RSS = kib(value)
	case "RssAnon":
		m.Anon = kib(value)
	case "RssFile":
		m.File = kib(value)
	case "RssShmem":
		m.Shmem = kib(value)
	case "VmData":
		m.Reserved = kib(value)
	case "VmSwap":
		m.Swap = kib(value)
	case "HugetlbPages":
		m.Huge = kib(value)
	case "Threads":
		if n, _, ok := Number(value); ok {
			m.Threads = n
		}
		return true
	}
	return false
}

// ParseStatus reads /proc/PID/status. A line that is not understood leaves its
// figure unknown.
func ParseStatus(b []byte) Status {
	s := Status{Memory: unknownMemory(), UID: int(Unknown)}
	for len(b) > 0 {
		var line []byte
		line, b = Line(b)
		i := bytes.IndexByte(line, ':')
		if i < 0 {
			continue
		}
		key, value := line[:i], line[i+1:]
		switch string(key) {
		case "Tgid":
			if n, _, ok := Number(value); ok {
				s.Group = int(n)
			}
		case "Uid": // real, effective, saved, of the file system
			if _, rest, ok := Number(value); ok {
				if n, _, ok := Number(rest); ok {
					s.UID = int(n)
				}
			}
		case "CapEff":
			if v, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64); err == nil {
				s.Capabilities = v
			}
		default:
			s.Memory.set(key, value)
		}
	}
	return s
}

// ParseNSpid reads the pids that a process has in its namespaces, the outermost
// first, out of /proc/PID/status. It returns nil where there is no such line
// (kernels before 4.1) and where the line is malformed.
func ParseNSpid(status []byte) []int {
	for len(status) > 0 {
		var line []byte
		line, status = Line(status)
		rest, ok := bytes.CutPrefix(line, []byte("NSpid:"))
		if !ok {
			continue
		}
		var pids []int
		for _, f := range bytes.Fields(rest) {
			pid, err := strconv.ParseUint(string(f), 10, 31)
			if err != nil {
				return nil
			}
			pids = append(pids, int(pid))
		}
		return pids
	}
	return nil
}
