package agent

import (
	"os"
	"path/filepath"
	"testing"
)

func TestALinkInAnotherFileSystemDoesNotLeadIntoOurs(t *testing.T) {
	t.Parallel()
	root, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(root, "tmp")); err != nil {
		t.Fatal(err)
	}
	if f, err := openInside(root, "/tmp"); err == nil {
		name, _ := os.Readlink(filepath.Join("/proc/self/fd", filepath.Base(f.Name())))
		f.Close()
		t.Errorf("a link to %s was followed to %s", outside, name)
	}
	if err := os.Mkdir(filepath.Join(root, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := openInside(root, "/run")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestAProcessOfOursIsListenedForInOurOwnFolder(t *testing.T) {
	t.Parallel()
	s, err := ListenFor(nil, 0, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Path()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(s.Path())); err == nil {
		t.Error("the folder is still there")
	}
}
