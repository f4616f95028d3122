package capture

import (
	"errors"

	"golang.org/x/sys/unix"
)

// processAlive reports whether a PID is in use. A zombie counts as dead only
// once it is waited for, which is late and therefore safe.
func processAlive(pid int) bool {
	return !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}
