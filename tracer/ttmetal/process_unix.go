//go:build unix

package ttmetal

import (
	"errors"
	"syscall"
)

// Gone asks with signal 0, which is sent to nobody. Only ESRCH says that there
// is no such process: EPERM is another user's.
func (System) Gone(pid int32) bool {
	return pid > 0 && errors.Is(syscall.Kill(int(pid), 0), syscall.ESRCH)
}
