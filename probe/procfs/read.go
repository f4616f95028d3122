package procfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// Dir is where a proc file system is mounted; "" is /proc.
type Dir string

// Path is the path of a file of a process, such as /proc/1/stat.
func (d Dir) Path(pid int, file string) string {
	return d.Process(strconv.Itoa(pid)) + "/" + file
}

// Process is the path of a folder below the mount point: of a pid as text, of
// "self", or of "sys".
func (d Dir) Process(name string) string {
	if d == "" {
		return "/proc/" + name
	}
	return string(d) + "/" + name
}

// Read reads a whole file of a process. Errors are those of os.ReadFile; IsGone
// tells those of a process that has ended.
func (d Dir) Read(pid int, file string) ([]byte, error) { return os.ReadFile(d.Path(pid, file)) }

// Strings reads cmdline or environ of a process, nil when it cannot be read or
// is empty.
func (d Dir) Strings(pid int, file string) []string {
	b, err := d.Read(pid, file)
	if err != nil {
		return nil
	}
	return ParseStrings(b)
}

// PIDs lists the processes, ascending, into dst.
func (d Dir) PIDs(dst []int) ([]int, error) {
	path := "/proc"
	if d != "" {
		path = string(d)
	}
	dst, err := numbers(path, dst)
	if err != nil {
		return dst, fmt.Errorf("list processes: %w", err)
	}
	return dst, nil
}

// Threads lists the threads of a process, ascending.
func (d Dir) Threads(pid int) ([]int, error) { return numbers(d.Path(pid, "task"), nil) }

// numbers are the entries of a folder that are numbers above 0.
func numbers(path string, dst []int) ([]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return dst, err
	}
	names, err := f.Readdirnames(-1)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		if n, err := strconv.Atoi(name); err == nil {
			dst = append(dst, n)
		}
	}
	slices.Sort(dst)
	return dst, err
}

// IsGone reports whether an error is the kernel's answer for a process that has
// ended: its folder is no more, or a file of it that was open says so.
func IsGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// ReadHead reads the head of a file into buf, as much as fits, without the costs
// of os.File. An empty file is io.EOF.
func ReadHead(path string, buf []byte) ([]byte, error) {
	n, err := readHead(path, buf)
	if err == nil && n == 0 {
		err = io.EOF
	}
	return buf[:n], err
}
