//go:build linux || darwin || freebsd || netbsd || openbsd

package leftover

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Lock is the ownership of one folder. It lasts until Release, or until the
// process ends. Programs that the process starts do not inherit it.
type Lock struct {
	file *os.File
}

// Claim claims a folder that the caller has just made and that no other process
// may write into. It fails where the file system has no locks; the folder can
// be used all the same, but nobody sweeps it if the process is killed.
func Claim(dir string) (*Lock, error) {
	// The file gets its name only once it is locked: Sweep never sees a lock
	// that is free although its owner lives.
	f, err := os.CreateTemp(dir, lockName+"-")
	if err != nil {
		return nil, fmt.Errorf("claim folder: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, lockName))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("claim folder %s: %w", dir, err), f.Close(), os.Remove(f.Name()))
	}
	return &Lock{file: f}, nil
}

// Release gives the folder up; the caller removes it. Releasing nil does
// nothing.
func (l *Lock) Release() error {
	if l == nil {
		return nil
	}
	// Closing alone would leave the lock to a child that another goroutine forks at this
	// moment, until that child executes its program.
	return errors.Join(unix.Flock(int(l.file.Fd()), unix.LOCK_UN), l.file.Close())
}

// Sweep removes the claimed folders whose owner is dead, and reports how many
// there were. The last element of the path is a pattern as filepath.Match has
// them; what is before it is taken as it is. What belongs to another user, was
// never claimed or is no folder stays. The error joins those of folders that
// could not be removed; a parent that is not there is none.
func Sweep(pattern string) (int, error) {
	parent, names := filepath.Split(pattern)
	entries, err := os.ReadDir(filepath.Clean(parent))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("sweep %s: %w", pattern, err)
	}
	swept := 0
	var errs []error
	for _, e := range entries {
		if ok, err := filepath.Match(names, e.Name()); err != nil {
			return swept, fmt.Errorf("sweep %s: %w", pattern, err)
		} else if !ok {
			continue
		}
		if done, err := sweep(filepath.Join(parent, e.Name())); err != nil {
			errs = append(errs, fmt.Errorf("sweep %s: %w", e.Name(), err))
		} else if done {
			swept++
		}
	}
	return swept, errors.Join(errs...)
}

// sweep removes one folder if its owner is dead. The lock is kept meanwhile, so
// that of two sweepers one does the work.
func sweep(dir string) (bool, error) {
	folder, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, nil // no folder, not ours, or gone by now
	}
	defer unix.Close(folder)
	var stat unix.Stat_t
	if unix.Fstat(folder, &stat) != nil || int(stat.Uid) != os.Geteuid() {
		return false, nil
	}
	// A FIFO in the lock's place must not hold us.
	lock, err := unix.Openat(folder, lockName, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, nil // never claimed
	}
	defer unix.Close(lock)
	if unix.Fstat(lock, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, nil // not what Claim makes
	}
	if unix.Flock(lock, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false, nil // its owner lives
	}
	if err := os.RemoveAll(dir); err != nil {
		return false, err
	}
	return true, nil
}
