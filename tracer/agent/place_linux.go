package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe/procfs"
)

// ListenFor is Listen for a process that runs already, and its children: the socket
// lies where that process reaches it, in its own file system if it has another than
// we, and belongs to its user. It needs root for another user's.
func ListenFor(h Handler, lag time.Duration, pid int) (*Server, error) {
	const proc procfs.Dir = ""
	status, err := proc.Read(pid, "status")
	if err != nil {
		return nil, fmt.Errorf("listen for agents: %w", err)
	}
	owner, root := os.Geteuid(), proc.Path(pid, "root")
	if owner == 0 { // others cannot enter another user's process in any case
		owner = procfs.ParseStatus(status).UID
	}
	if sameRoot(root) {
		dir, err := socketDir()
		if err != nil {
			return nil, fmt.Errorf("listen for agents: %w", err)
		}
		return listenAt(h, lag, place{dir: dir, seen: dir, owner: owner})
	}
	var failed []error
	for _, home := range [...]string{"/tmp", "/var/tmp", "/dev/shm", "/run"} {
		folder, err := openInside(root, home)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		dir, err := os.MkdirTemp(fmt.Sprintf("/proc/self/fd/%d", folder.Fd()), folderPrefix)
		if err != nil {
			folder.Close()
			failed = append(failed, err)
			continue
		}
		seen := filepath.Join(home, filepath.Base(dir))
		return listenAt(h, lag, place{dir: dir, seen: seen, owner: owner, home: folder})
	}
	return nil, fmt.Errorf("listen for agents in the file system of process %d: %w", pid,
		errors.Join(failed...))
}

// openInside opens a folder of another file system as its own processes would find it:
// a link in it must not lead us, who may be root, into ours.
func openInside(root, path string) (*os.File, error) {
	top, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	fd, err := unix.Openat2(int(top.Fd()), path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root + path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// sameRoot reports whether a root folder is ours, in the same mount namespace.
func sameRoot(root string) bool {
	var theirs, ours unix.Stat_t
	if unix.Stat(root+"/", &theirs) != nil || unix.Stat("/", &ours) != nil {
		return true
	}
	if theirs.Dev != ours.Dev || theirs.Ino != ours.Ino {
		return false
	}
	// Another namespace may have the same root and another /tmp.
	var theirTmp, ourTmp unix.Stat_t
	tmp := os.TempDir()
	if unix.Stat(root+tmp, &theirTmp) != nil || unix.Stat(tmp, &ourTmp) != nil {
		return false
	}
	return theirTmp.Dev == ourTmp.Dev && theirTmp.Ino == ourTmp.Ino
}

// Put makes a file beside the socket, which only the programs' user may read. It
// returns its path as the programs see it, and what removes it, which Close does too.
func (s *Server) Put(name string, text []byte) (seen string, remove func() error, err error) {
	fail := func(err error) (string, func() error, error) {
		return "", nil, fmt.Errorf("put a file beside the agent's socket: %w", err)
	}
	dir, err := s.openFolder()
	if err != nil {
		return fail(err)
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC,
		0o600)
	if err != nil {
		return fail(err)
	}
	file := os.NewFile(uintptr(fd), name)
	_, err = file.Write(text)
	if err == nil && s.owner != os.Geteuid() {
		err = file.Chown(s.owner, -1)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fail(err)
	}
	remove = func() error {
		dir, err := s.openFolder()
		if err == nil {
			defer unix.Close(dir)
			err = unix.Unlinkat(dir, name, 0)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the file beside the agent's socket: %w", err)
		}
		return nil
	}
	return filepath.Join(filepath.Dir(s.seen), name), remove, nil
}

// openFolder opens the folder of the socket itself: in a container it belongs to the
// program's user, who could have put a link in its place.
func (s *Server) openFolder() (int, error) {
	return unix.Open(s.dir, unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}
