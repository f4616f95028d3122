//go:build unix

package output

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// noTerminal keeps a terminal that is opened from becoming our own.
const noTerminal = unix.O_NOCTTY

var errNotOpen = errors.New("the descriptor is not open for writing")

// openDescriptor is another handle of a descriptor that we were started with.
// Those are known by what they lack: all that Go opens is closed at an exec.
func openDescriptor(fd int) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC != 0 {
		return nil, errNotOpen
	}
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || mode&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, errNotOpen
	}
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(copied), "descriptor "+strconv.Itoa(fd)), nil
}

// mayWrite asks the system whether what is there may be written.
func mayWrite(path string) error { return unix.Access(path, unix.W_OK) }

// keepOwner gives a file the owner and the group of another, as far as we may:
// what a user runs as root stays the user's.
func keepOwner(file *os.File, as fs.FileInfo) {
	owner, ok := as.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if file.Chown(int(owner.Uid), int(owner.Gid)) != nil {
		_ = file.Chown(-1, int(owner.Gid)) // a member may give it to the group
	}
}

// OutlivePipes makes a write to a pipe that nobody reads an error also on stdout
// and stderr, where it would end us with SIGPIPE, and the program's exit code
// with us. The program starts with the signal as we found it.
func OutlivePipes() {
	if !signal.Ignored(unix.SIGPIPE) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	}
}
