package ttmetal

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// ErrServed says that another server answers on the socket.
var ErrServed = errors.New("another server answers there")

// boundSocket is the file of a socket, to remove it only while it is ours.
type boundSocket struct {
	path string
	info fs.FileInfo
}

// answerBound is how long a server at the same path has to take a connection.
const answerBound = time.Second

// listen makes a socket at path with mode 0600, or 0666 when shared. It is
// made in a folder of mode 0700 beside and moved to its place with its mode
// set, so that nobody else can connect in between and a file that nobody
// serves is replaced in one step.
func listen(path string, shared bool) (*net.UnixListener, boundSocket, error) {
	if err := replaceable(path); err != nil {
		return nil, boundSocket{}, fmt.Errorf("listen on %s: %w", path, err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".g") // short: a socket's path has 103 bytes on macOS
	if err != nil {
		return nil, boundSocket{}, fmt.Errorf("listen on %s: %w", path, err)
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "s")
	lis, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, boundSocket{}, fmt.Errorf("listen on %s: %w", path, err)
	}
	lis.SetUnlinkOnClose(false) // it would unlink the name it was made by
	mode := fs.FileMode(0o600)
	if shared {
		mode = 0o666
	}
	info, err := place(made, path, mode)
	if err != nil {
		lis.Close()
		return nil, boundSocket{}, fmt.Errorf("listen on %s: %w", path, err)
	}
	return lis, boundSocket{path, info}, nil
}

func place(made, path string, mode fs.FileMode) (fs.FileInfo, error) {
	if err := os.Chmod(made, mode); err != nil {
		return nil, err
	}
	if err := os.Rename(made, path); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

// replaceable says why what is at path cannot make room, nil when it can.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return errors.New("it is not a socket; remove it or choose another path")
	}
	c, err := net.DialTimeout("unix", path, answerBound)
	if err == nil {
		c.Close()
		return ErrServed
	}
	// Only a refusal says that nobody listens: a server with a full backlog, or
	// another user's, is not to be replaced. Windows says it in several ways.
	if errors.Is(err, syscall.ECONNREFUSED) || runtime.GOOS == "windows" {
		return nil
	}
	return fmt.Errorf("it may be served: %w", err)
}

// remove removes the file if it still is the one that was made.
func (b boundSocket) remove() error {
	info, err := os.Lstat(b.path)
	if err != nil || !os.SameFile(info, b.info) {
		return nil // someone else took the place, or cleared it
	}
	return os.Remove(b.path)
}
