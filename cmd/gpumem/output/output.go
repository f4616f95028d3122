package output

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

// Help is the help of -o: what every command does with it.
const Help = `write to this file instead of stdout ("-" is stdout; devices and pipes are written into)`

// RunHelp is that of run and attach.
const RunHelp = `write the answer to this file ("-" is stdout; devices and pipes are written into)`

// ToStdout reports an -o that is left out or names stdout.
func ToStdout(path string) bool { return path == "" || path == "-" }

// output is what the file of -o is before it is written.
type output struct {
	asked string      // as the user named it
	path  string      // where its links lead
	info  fs.FileInfo // of the regular file that is there, nil without
	// into says that the output is no regular file: a device, a named pipe, a
	// socket. It is opened and written into, and never replaced.
	into bool
	fd   int         // the open descriptor that the path names, -1 without
	mode fs.FileMode // of a file that is new, less the umask
}

// Write writes what a command prints into the file of -o; "-" is stdout. A regular file
// gets its name when it is whole, and replaces one that exists only when forced: it then
// keeps that one's mode and, where we may, its owner; a link to it stays a link. Anything
// else that exists is written into.
func Write(stdout io.Writer, path string, force bool, write func(io.Writer) error) error {
	if path == "-" {
		return write(stdout)
	}
	o, err := find(path, force)
	if err != nil {
		return err
	}
	return o.write(write)
}

// Check returns the error that [Write] would end with, as far as it can be known
// before the work is done. An empty path is no output.
func Check(path string, force bool) error {
	if ToStdout(path) {
		return nil
	}
	o, err := find(path, force)
	if err != nil {
		return err
	}
	return o.check()
}

// find looks at what is there under a path, and refuses what would not
// be written.
func find(path string, force bool) (*output, error) {
	o := &output{asked: path, path: path, fd: descriptorOf(path), mode: 0o666}
	if o.fd >= 0 {
		o.into = true
		return o, nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		o.path = linkEnd(path)
		return o, nil
	case err != nil:
		return nil, o.failed(err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; name a file for the output", path)
	case !info.Mode().IsRegular():
		o.into = true
		return o, nil
	case !force:
		return nil, fmt.Errorf("%s exists; overwrite it with --force", path)
	}
	o.info = info
	if o.path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, o.failed(err)
	}
	return o, nil
}

// maxLinks bounds how many links are followed, as the kernel does.
const maxLinks = 40

// descriptorOf is the number of the descriptor that a path names, as /dev/stdout
// and /dev/fd/3 do, or -1. To open such a path would not be the same: a file
// that was opened for appending would be written from its beginning.
func descriptorOf(path string) int {
	names := regexp.MustCompile(`^(?:/dev/fd|/proc/(?:self|thread-self|` + strconv.Itoa(os.Getpid()) +
		`)/fd)/(\d{1,9})$`)
	path, err := filepath.Abs(path)
	for range maxLinks {
		if err != nil {
			break
		}
		if m := names.FindStringSubmatch(path); m != nil {
			fd, _ := strconv.Atoi(m[1])
			return fd
		}
		path, err = nextLink(path)
	}
	return -1
}

// linkEnd is where a link leads whose end does not exist: there the file is
// made, as a shell would make it.
func linkEnd(path string) string {
	for range maxLinks {
		next, err := nextLink(path)
		if err != nil {
			break
		}
		path = next
	}
	return path
}

// nextLink follows one link. The error says that path is none.
func nextLink(path string) (string, error) {
	to, err := os.Readlink(path)
	if err != nil || filepath.IsAbs(to) {
		return to, err
	}
	return filepath.Join(filepath.Dir(path), to), nil
}

// check finds out whether the output can be written, and leaves nothing behind.
func (o *output) check() error {
	switch {
	case o.fd >= 0:
		file, err := openDescriptor(o.fd)
		if err != nil {
			return o.failed(err)
		}
		return file.Close()
	case o.into: // a named pipe must not be opened before there is something to read
		return o.failed(mayWrite(o.path))
	}
	temp, err := o.temporary()
	if err != nil {
		return o.failed(err)
	}
	if temp == nil {
		return o.failed(mayWrite(o.path))
	}
	return errors.Join(temp.Close(), os.Remove(temp.Name()))
}

func (o *output) write(write func(io.Writer) error) error {
	if o.into {
		return o.failed(o.writeInto(write))
	}
	temp, err := o.temporary()
	if err != nil {
		return o.failed(err)
	}
	if temp == nil {
		return o.failed(o.writeOver(write))
	}
	defer os.Remove(temp.Name())
	if err := errors.Join(write(temp), temp.Close()); err != nil {
		return o.failed(err)
	}
	err = os.Rename(temp.Name(), o.path)
	if o.info != nil && errors.Is(err, syscall.EBUSY) { // a file that is mounted on its own, as containers do
		err = o.writeOver(func(w io.Writer) error { return copyFile(w, temp.Name()) })
	}
	return o.failed(err)
}

// temporary makes the file that will be renamed, with the mode it is to have. It
// is nil where only the file that exists may be written, not its folder.
func (o *output) temporary() (*os.File, error) {
	perm := o.mode
	if o.info != nil {
		perm = o.info.Mode().Perm()
	}
	temp, err := createTemporary(filepath.Dir(o.path), perm)
	switch {
	case o.info != nil && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)):
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the folder %s does not exist", filepath.Dir(o.path))
	case err != nil:
		return nil, err
	}
	if o.info != nil {
		keepOwner(temp, o.info)
		if err := temp.Chmod(perm); err != nil { // the umask may have taken from it
			return nil, errors.Join(err, temp.Close(), os.Remove(temp.Name()))
		}
	}
	return temp, nil
}

// createTemporary makes a new file of a mode that the umask is applied to.
func createTemporary(dir string, perm fs.FileMode) (*os.File, error) {
	for {
		name := filepath.Join(dir, ".gpumem-"+rand.Text()[:10]+".tmp")
		temp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return temp, err
		}
	}
}

// writeInto writes into what is there and is no regular file.
func (o *output) writeInto(write func(io.Writer) error) error {
	var file *os.File
	var err error
	if o.fd >= 0 {
		file, err = openDescriptor(o.fd)
	} else {
		file, err = os.OpenFile(o.path, os.O_WRONLY|noTerminal, 0)
	}
	if err != nil {
		return err
	}
	return writeThrough(file, write)
}

// writeOver writes a regular file in its place. A failure leaves half of one.
func (o *output) writeOver(write func(io.Writer) error) error {
	file, err := os.OpenFile(o.path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	return writeThrough(file, write)
}

// writeThrough writes to a file and closes it.
func writeThrough(file *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriter(file)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	return errors.Join(err, file.Close())
}

func copyFile(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

// failed says which output could not be written: what the temporary file was
// called helps nobody.
func (o *output) failed(err error) error {
	var path *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &path):
		err = path.Err
	}
	return fmt.Errorf("write %s: %w", o.asked, err)
}
