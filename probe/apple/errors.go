package apple

import (
	"errors"
	"fmt"
	"syscall"
)

// The kinds of errors, for errors.Is.
var (
	// ErrUnsupported: this system is not macOS, or this build loads nothing.
	ErrUnsupported = errors.New("not macOS, or a build that loads no library")
	// ErrPermission: the process is another user's and we are not root.
	ErrPermission = errors.New("the process is another user's; root sees all")
	// ErrGone: there is no process of this pid, or it has ended.
	ErrGone = errors.New("no such process")
)

// Error is a call that failed, in one line.
type Error struct {
	Op   string // what was tried
	PID  int    // of whom, 0 for none
	Code int    // errno or kern_return_t, as the call has it
	Text string
	is   error
}

func (e *Error) Error() string {
	op := e.Op
	if e.PID != 0 {
		op += fmt.Sprintf(" of process %d", e.PID)
	}
	return op + ": " + e.Text
}

// Unwrap is the kind of the error, nil for others than those above.
func (e *Error) Unwrap() error { return e.is }

// errnoError is the error of a call that set errno. 0 is one that should have.
func errnoError(op string, pid int, errno uintptr) error {
	e := &Error{Op: op, PID: pid, Code: int(errno), Text: syscall.Errno(errno).Error()}
	switch syscall.Errno(errno) {
	case 0:
		e.Text = "the system gave no reason"
	case syscall.EPERM, syscall.EACCES:
		e.is, e.Text = ErrPermission, ErrPermission.Error()
	case syscall.ESRCH:
		e.is, e.Text = ErrGone, ErrGone.Error()
	}
	return e
}

// Codes of kern_return_t (XNU, osfmk/mach/kern_return.h and message.h).
const (
	kernSuccess         = 0
	kernInvalidArgument = 4
	kernFailure         = 5
	sendInvalidDest     = 0x10000003
)

// kernError is the error of a Mach call.
func kernError(op string, pid int, code int32) error {
	e := &Error{Op: op, PID: pid, Code: int(code)}
	switch code {
	case kernFailure:
		// task_name_for_pid says no more, be it another user's or nobody's.
		e.is, e.Text = ErrPermission, "no process, or another user's; root sees all"
	case kernInvalidArgument, sendInvalidDest:
		e.is, e.Text = ErrGone, "the task is gone"
	default:
		e.Text = fmt.Sprintf("kern_return_t %#x", uint32(code))
	}
	return e
}
