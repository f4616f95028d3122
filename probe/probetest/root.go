package probetest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Root is the root of a made-up file system, removed when its test ends. Paths
// are below it, with slashes and without one in front. A file that cannot be
// written fails the test.
type Root struct {
	Path string
	tb   testing.TB
}

// NewRoot makes an empty one.
func NewRoot(tb testing.TB) Root {
	tb.Helper()
	return Root{Path: tb.TempDir(), tb: tb}
}

// File writes a file, over one that is there.
func (r Root) File(path, text string) {
	r.tb.Helper()
	if err := os.WriteFile(r.below(path), []byte(text), 0o644); err != nil {
		r.tb.Fatal(err)
	}
}

// Link makes a symbolic link, whose target is taken as it is: it need not be
// there.
func (r Root) Link(path, to string) {
	r.tb.Helper()
	if err := os.Symlink(to, r.below(path)); err != nil {
		r.tb.Fatal(err)
	}
}

// Folder makes one without files.
func (r Root) Folder(path string) {
	r.tb.Helper()
	if err := os.MkdirAll(filepath.Join(r.Path, path), 0o755); err != nil {
		r.tb.Fatal(err)
	}
}

// FD gives a process a descriptor of what to names; info is the text of its
// fdinfo.
func (r Root) FD(pid, fd int, to, info string) {
	r.tb.Helper()
	process := "proc/" + strconv.Itoa(pid)
	r.Link(process+"/fd/"+strconv.Itoa(fd), to)
	r.File(process+"/fdinfo/"+strconv.Itoa(fd), info)
}

// below is the place of a path, with the folders that lead to it.
func (r Root) below(path string) string {
	r.tb.Helper()
	r.Folder(filepath.Dir(path))
	return filepath.Join(r.Path, path)
}
