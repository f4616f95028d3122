package scan

import (
	"bytes"
	"strconv"
	"time"
)

const (
	// tick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every
	// architecture that Go runs on.
	tick = 10 * time.Millisecond
	// kernelThread is PF_KTHREAD of the kernel's sched.h.
	kernelThread = 0x00200000
)

// stat is what /proc/PID/stat tells.
type stat struct {
	name    string
	state   byte
	parent  int
	kernel  bool
	cpu     int64 // ticks
	threads int
	start   int64 // ticks since boot
}

// parseStat reads /proc/PID/stat. The name stands in parentheses and may hold
// some itself.
func parseStat(b []byte) (stat, bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return stat{}, false
	}
	s := stat{name: string(b[open+1 : end])}
	// Fields from state (3) on; parent 4, flags 9, utime 14, stime 15, threads
	// 20, start 22.
	var fields [20][]byte
	rest := b[end+1:]
	for i := range fields {
		rest = bytes.TrimLeft(rest, " ")
		stop := bytes.IndexAny(rest, " \n")
		if stop < 0 {
			stop = len(rest)
		}
		fields[i], rest = rest[:stop], rest[stop:]
	}
	if len(fields[0]) != 1 {
		return stat{}, false
	}
	s.state = fields[0][0]
	var v [6]int64
	for i, field := range [...]int{4, 9, 14, 15, 20, 22} {
		n, err := strconv.ParseInt(string(fields[field-3]), 10, 64)
		if err != nil || n < 0 {
			return stat{}, false
		}
		v[i] = n
	}
	s.parent, s.kernel, s.cpu, s.threads, s.start = int(v[0]), v[1]&kernelThread != 0, v[2]+v[3], int(v[4]), v[5]
	return s, true
}

// fill puts it into a process.
func (s *stat) fill(p *Process, uptime time.Duration) {
	p.Name, p.Parent, p.Threads, p.Start = s.name, s.parent, s.threads, s.start
	p.CPU = time.Duration(s.cpu) * tick
	p.State = stateOf(s.state)
	if uptime >= 0 {
		p.Age = max(uptime-time.Duration(s.start)*tick, 0)
	}
}

// stateOf puts the kernel's letter into a word.
func stateOf(letter byte) State {
	switch letter {
	case 'R':
		return Running
	case 'S', 'I', 'P':
		return Sleeping
	case 'D', 'K', 'W':
		return Waiting
	case 'T', 't':
		return Stopped
	case 'Z', 'X', 'x':
		return Zombie
	}
	return StateUnknown
}

// parseStatus fills in memory and owner from /proc/PID/status and returns the
// pid of the process that it is a thread of, 0 when not told.
func parseStatus(b []byte, p *Process) (group int) {
	for line := range bytes.Lines(b) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		switch string(name) {
		case "Tgid":
			group = int(max(number(value), 0))
		case "Uid": // real, effective, saved, of the file system
			if f := bytes.Fields(value); len(f) > 1 {
				p.UID = int(number(f[1]))
			}
		case "VmRSS":
			p.Memory.RSS = kib(value)
		case "RssAnon":
			p.Memory.Anon = kib(value)
		case "RssFile":
			p.Memory.File = kib(value)
		case "RssShmem":
			p.Memory.Shmem = kib(value)
		case "VmSwap":
			p.Memory.Swap = kib(value)
		}
	}
	if m := &p.Memory; m.RSS != Unknown && m.Swap != Unknown {
		m.Footprint = m.RSS + m.Swap
	}
	return group
}

// kib reads a number of KiB as bytes.
func kib(value []byte) int64 {
	n := number(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB")))
	if n == Unknown || n > 1<<50 {
		return Unknown
	}
	return n << 10
}

// number reads a decimal number, Unknown when it is none.
func number(value []byte) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
	if err != nil || n < 0 {
		return Unknown
	}
	return n
}
