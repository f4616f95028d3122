package attach

import (
	"errors"
	"time"
)

// ErrNoPython says that a process runs no CPython whose functions can be found.
var ErrNoPython = errors.New("it runs no Python")

// Refusal says why a process cannot be entered. It was not changed.
type Refusal struct {
	Why string // a clause: it is traced by strace (process 7)
	Try string // what to do about it, a clause; empty where nothing helps
}

// Error is one line.
func (r *Refusal) Error() string {
	if r.Try == "" {
		return r.Why
	}
	return r.Why + "; " + r.Try
}

// Entry is one text that was brought in.
type Entry struct {
	// Stopped is how long the main thread stood still; 0 where it was not stopped.
	Stopped time.Duration
	// Official says that the interpreter's own interface for debuggers was used.
	Official bool
	// Inside is the file whose code the main thread was executing, without its
	// folder: libcuda.so.1. It is empty where that is not known.
	Inside string

	pid     int
	text    region
	syscall uint64 // address of an instruction that calls the system

	remove   func() error // of an official one: its file
	withdraw func() bool  // of an official one
}

// Put makes a file that a process can read, and returns its path as that process sees
// it, and what takes it away again, which may be called twice.
type Put func(text []byte) (path string, remove func() error, err error)

// region is memory of the process.
type region struct{ start, size uint64 }
