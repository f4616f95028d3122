package firsttouch

import (
	"fmt"
)

// Error is a refusal on one line: what was done, what went wrong, what to do.
type Error struct {
	Op   string
	Text string
	Hint string // empty when nothing helps
	is   error
}

// Error returns the line.
func (e *Error) Error() string {
	s := fmt.Sprintf("first touch: %s: %s", e.Op, e.Text)
	if e.Hint != "" {
		s += "; try: " + e.Hint
	}
	return s
}

// Unwrap returns what a caller may branch on.
func (e *Error) Unwrap() error { return e.is }

// rights is what decides on this machine who may watch whom.
type rights struct {
	paranoid      int // kernel.perf_event_paranoid
	paranoidKnown bool
	perfmon       bool // CAP_PERFMON or CAP_SYS_ADMIN is ours
}

// denied says what permission is missing to watch a process.
func denied(pid int, r rights, is error) error {
	e := &Error{Op: fmt.Sprintf("watch process %d", pid), is: is}
	switch {
	case r.perfmon:
		e.Text = "perf_event_open is refused in spite of CAP_PERFMON"
		e.Hint = "a seccomp filter or a security module forbids it: run outside the container, or allow " +
			"perf_event_open"
	case r.paranoidKnown && r.paranoid > 2:
		e.Text = fmt.Sprintf("kernel.perf_event_paranoid is %d, which forbids it without CAP_PERFMON",
			r.paranoid)
		e.Hint = "sysctl kernel.perf_event_paranoid=2, or setcap cap_perfmon,cap_sys_ptrace+ep on gpumem, " +
			"or root"
	default:
		e.Text = "the process is another user's or protects itself, and CAP_PERFMON is missing"
		e.Hint = "run as its owner, or setcap cap_perfmon,cap_sys_ptrace+ep on gpumem, or root"
	}
	return e
}
