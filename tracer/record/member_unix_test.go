//go:build unix

package record

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runFolder writes a small run and returns its folder.
func runFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		FileMeta: `{"schema":1,"pid":7}`, FileSamples: "t_ms,rss_bytes\n0,1\n", FileEvents: `{"kind":"step","step":1}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// within fails the test when f has not returned after ten seconds: that is
// hanging.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

func TestAMemberThatIsNoRegularFileOfTheFolderIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "private")
	if err := os.WriteFile(outside, []byte("t_ms,rss_bytes\n0,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]struct {
		put  func(path string) error
		want string
	}{
		"pipe":    {func(p string) error { return syscall.Mkfifo(p, 0o600) }, "is a pipe"},
		"folder":  {func(p string) error { return os.Mkdir(p, 0o700) }, "is a folder"},
		"device":  {func(p string) error { return os.Symlink("/dev/zero", p) }, "is a link that leads out"},
		"outside": {func(p string) error { return os.Symlink(outside, p) }, "is a link that leads out"},
		"upward": {func(p string) error { return os.Symlink("../../../../etc/passwd", p) },
			"is a link that leads out"},
		"circle": {func(p string) error { return os.Symlink(filepath.Base(p), p) }, "is a link that leads out"},
		"own pipe": {func(p string) error {
			return errors.Join(syscall.Mkfifo(p+"x", 0o600), os.Symlink(filepath.Base(p)+"x", p))
		}, "is a pipe"},
		"socket": {putSocket, "is a socket"},
	}
	for _, name := range ownFiles() {
		for kind, k := range kinds {
			dir := runFolder(t)
			path := filepath.Join(dir, name)
			os.Remove(path)
			if err := k.put(path); err != nil {
				t.Fatal(err)
			}
			within(t, kind+" as "+name, func() {
				if f, err := OpenMember(dir, name); err == nil {
					f.Close()
					t.Errorf("%s as %s is opened", kind, name)
				}
				_, err := Open(dir)
				if !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), name+" "+k.want) ||
					strings.Contains(err.Error(), "\n") {
					t.Errorf("%s as %s: %v", kind, name, err)
				}
			})
		}
	}
}

func putSocket(path string) error {
	// A path of a socket has at most some hundred bytes; that of a test is longer.
	short, err := os.MkdirTemp("/tmp", "g")
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s"), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return errors.Join(os.Rename(filepath.Join(short, "s"), path), l.Close())
}

func TestALinkWithinTheFolderIsFollowedAndOneToNothingIsAbsent(t *testing.T) {
	t.Parallel()
	dir := runFolder(t)
	if err := errors.Join(os.Rename(filepath.Join(dir, FileSamples), filepath.Join(dir, "first.csv")),
		os.Symlink("first.csv", filepath.Join(dir, FileSamples)),
		os.Symlink("nothing", filepath.Join(dir, FileVerdict))); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(t.TempDir(), "link") // a link to the folder itself is the user's own
	if err := os.Symlink(dir, linked); err != nil {
		t.Fatal(err)
	}
	run, err := Open(linked)
	if err != nil || run.Samples.Len() != 1 || run.Meta.PID != 7 || len(run.Events) != 1 {
		t.Errorf("%+v, %v", run, err)
	}
	if _, err := OpenMember(dir, FileVerdict); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a link to nothing: %v", err)
	}
}

func TestAPipeGivenInPlaceOfAFileIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			f.WriteString("t_ms,rss_bytes\n0,1\n")
			time.Sleep(50 * time.Millisecond)
			f.WriteString("1,2\n")
			f.Close()
		}
	}()
	within(t, "the pipe", func() {
		if run, err := Open(path); err != nil || run.Samples.Len() != 2 {
			t.Errorf("%+v, %v", run, err)
		}
	})
}

func TestAnEndlessSourceIsRefusedByItsBytes(t *testing.T) {
	t.Parallel()
	within(t, "/dev/zero", func() {
		if _, err := Open("/dev/zero"); !errors.Is(err, ErrNotSamples) ||
			!strings.Contains(err.Error(), "line 1 is longer than 1 MiB") {
			t.Errorf("/dev/zero: %v", err)
		}
	})
	in, err := OpenInput("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	in.left = 10
	if n, err := in.Read(make([]byte, 64)); n != 10 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := in.Read(make([]byte, 64)); err == nil ||
		!strings.Contains(err.Error(), "gave more than 4 GiB") || in.Rewind() {
		t.Errorf("beyond the bound: %v", err)
	}
}

func TestASparseFileEndsAtALineWithoutAnEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sparse.csv")
	if err := errors.Join(os.WriteFile(path, []byte("t_ms,rss_bytes\n0,1\n1,2\n"), 0o600),
		os.Truncate(path, 100<<30)); err != nil {
		t.Skipf("the file system holds no sparse file of 100 GiB: %v", err)
	}
	within(t, "a sparse file", func() {
		run, err := Open(path)
		if err != nil || run.Samples.Len() != 2 ||
			!strings.Contains(warned(run.Warnings), "a line has no end within 64 MiB") {
			t.Errorf("%v, %v", run, err)
		}
	})
}
