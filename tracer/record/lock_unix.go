//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package record

import (
	"errors"
	"os"
	"syscall"
)

// lockFolder takes the lock of a run folder, which its writer holds while it lives.
// The lock goes with the process, however that ends. taken says that another has it;
// a file system without locks gives none and no error.
func lockFolder(dir string) (lock *os.File, taken bool) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.Is(err, syscall.EWOULDBLOCK)
	}
	return f, false
}
