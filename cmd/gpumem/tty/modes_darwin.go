package tty

import "golang.org/x/sys/unix"

// The requests that read and set the modes of a terminal, at once and without
// waiting for what is still to be written.
const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)
