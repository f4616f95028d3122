package procfs

import (
	"bytes"
	"time"
)

// Tick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every
// architecture that Go runs on.
const Tick = 10 * time.Millisecond

// kernelThread is PF_KTHREAD of the kernel's sched.h.
const kernelThread = 0x00200000

// Stat is what /proc/PID/stat tells of a process or of one of its threads.
type Stat struct {
	Name    []byte // the short name, a part of the text
	State   byte   // the kernel's letter: R, S, D, Z, …
	Parent  int
	Session int   // the PID of the session's leader, 0 where it is of another namespace
	Kernel  bool  // it is a thread of the kernel
	Faults  int64 // minor and major, since the start
	CPU     time.Duration
	Threads int
	Start   int64 // in ticks since the machine started
	// Pages are the resident pages as this file counts them, Unknown in a text
	// that ends before.
	Pages int64
}

// The numbers of the fields, as proc_pid_stat(5) counts them. The first after
// the name is the state.
const (
	fieldState   = 3
	fieldParent  = 4
	fieldSession = 6
	fieldFlags   = 9
	fieldMinor   = 10
	fieldMajor   = 12
	fieldUser    = 14
	fieldSystem  = 15
	fieldThreads = 20
	fieldStart   = 22
	fieldPages   = 24
)

// ParseStat reads /proc/PID/stat; false for a text of another form. The name
// stands in parentheses and may hold some itself.
func ParseStat(b []byte) (s Stat, ok bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return Stat{}, false
	}
	s = Stat{Name: b[open+1 : end], Pages: Unknown}
	rest := b[end+1:]
	for field := fieldState; field <= fieldPages; field++ {
		word, after := nextWord(rest)
		if len(word) == 0 {
			return s, field > fieldStart
		}
		rest = after
		if !s.set(field, word) {
			return Stat{}, false
		}
	}
	return s, true
}

// set takes one field over. Fields that nobody asked for may hold anything.
func (s *Stat) set(field int, word []byte) bool {
	if field == fieldState {
		s.State = word[0]
		return len(word) == 1
	}
	n, rest, ok := Number(word)
	ok = ok && len(rest) == 0
	switch field {
	case fieldParent:
		s.Parent = int(n)
	case fieldSession:
		s.Session = int(n)
	case fieldFlags:
		s.Kernel = n&kernelThread != 0
	case fieldMinor, fieldMajor:
		s.Faults += n
	case fieldUser, fieldSystem:
		s.CPU += time.Duration(min(n, maxTicks)) * Tick
	case fieldThreads:
		s.Threads = int(n)
	case fieldStart:
		s.Start = n
	case fieldPages:
		s.Pages = n
	default:
		return true
	}
	return ok
}

// maxTicks keeps the sum of two times within what a Duration holds.
const maxTicks = 1<<62/int64(Tick) - 1

// nextWord is the next word of a line, which ends at a blank or the line's end.
func nextWord(b []byte) (word, rest []byte) {
	start := 0
	for start < len(b) && b[start] == ' ' {
		start++
	}
	end := start
	for end < len(b) && b[end] != ' ' && b[end] != '\n' {
		end++
	}
	return b[start:end], b[end:]
}

// Statm is what /proc/PID/statm tells, in pages.
type Statm struct{ Size, Resident, Shared int64 }

// ParseStatm reads /proc/PID/statm; false for a text of another form.
func ParseStatm(b []byte) (s Statm, ok bool) {
	var ok2, ok3 bool
	s.Size, b, ok = Number(b)
	s.Resident, b, ok2 = Number(b)
	s.Shared, _, ok3 = Number(b)
	if !ok || !ok2 || !ok3 {
		return Statm{}, false
	}
	return s, true
}
