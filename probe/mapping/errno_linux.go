package mapping

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isNoProcess reports the kernel's answer for a process that has ended, or has
// no memory of its own, while its file was open.
func isNoProcess(err error) bool { return errors.Is(err, unix.ESRCH) }
