//go:build unix

package record

import "syscall"

// withoutWaiting has a pipe that nobody writes to opened at once. Reading a
// regular file is the same with it.
const withoutWaiting = syscall.O_NONBLOCK
