//go:build unix

package ttmetal

import (
	"errors"
	"syscall"
)

// gone asks with signal 0. Only ESRCH says that there is no such process.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
