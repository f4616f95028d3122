package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular is wrapped by OpenMember, and so by Open, for a member of a run
// folder that is no regular file in that folder.
var ErrNotRegular = errors.New(
	"a run folder holds regular files only; remove it, or put the file itself there")

// OpenMember opens the file name of the run folder dir for reading; the caller
// closes it. Folders are passed from person to person, so a member is not
// trusted: a pipe, a socket, a device, a folder and a link that leads out of
// the folder are refused with ErrNotRegular. A link to a regular file in the
// same folder is followed. It never waits, and what it returns is what was
// looked at: the name may be given to another file at any time. A member that
// is not there is fs.ErrNotExist.
func OpenMember(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, memberError(root, name, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(name, kindOfFile(info.Mode()))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// memberError says why a member could not be opened. A socket cannot be opened
// at all, and os.Root has no error of its own for a link that leads out.
func memberError(root *os.Root, name string, err error) error {
	info, lookErr := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), lookErr != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return notRegular(name, "a link that leads out of the folder or in a circle")
	case !info.Mode().IsRegular():
		return notRegular(name, kindOfFile(info.Mode()))
	}
	return err
}

func notRegular(name, kind string) error {
	return fmt.Errorf("%s is %s: %w", name, kind, ErrNotRegular)
}

func kindOfFile(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "not a regular file"
}

// CheckMembers looks whether all files of the run folder dir that are there may
// be read; its error wraps ErrNotRegular. A folder that is not there has none.
// Open does so by itself. It is for readers that follow a folder and must refuse
// it at once.
func CheckMembers(dir string) error {
	for _, name := range ownFiles() {
		f, err := OpenMember(dir, name)
		if err == nil {
			f.Close()
		} else if errors.Is(err, ErrNotRegular) {
			return fmt.Errorf("open run %s: %w", dir, err)
		}
	}
	return nil
}

// ReadMeta reads run.json of the run folder dir. What could be read comes back
// together with the error.
func ReadMeta(dir string) (Meta, error) {
	var m Meta
	f, err := OpenMember(dir, FileMeta)
	if err != nil {
		return m, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMeta))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("read as far as it goes: %w", err)
	}
	m.Mask() // an older version may have written it
	return m, nil
}
