package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestRunsThatBeginAtOnceGetAFolderEach(t *testing.T) {
	t.Chdir(t.TempDir())
	const runs = 30
	now := time.Now()
	names := make([]string, runs)
	var wait sync.WaitGroup
	for i := range runs {
		wait.Go(func() {
			dir, err := NewFolder("train.py", now)
			if err != nil {
				t.Error(err)
			}
			names[i] = dir
		})
	}
	wait.Wait()
	seen := map[string]bool{}
	for _, dir := range names {
		if info, err := os.Stat(dir); seen[dir] || err != nil || !info.IsDir() {
			t.Errorf("%q was given before, or is not there: %v", dir, err)
		}
		seen[dir] = true
	}
	if first := FolderName("train.py", now); !seen[first] || !seen[first+"-2"] || !seen[first+"-30"] {
		t.Errorf("names with gaps: %q", names)
	}
}

func TestAFolderIsTakenByTheRunItWasMadeFor(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := NewFolder("train.py", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w, err := Create(dir, Meta{}, CreateOptions{Force: true})
	if err != nil || w.Close() != nil {
		t.Error(err)
	}
	if _, err := Create(dir, Meta{}, CreateOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("%v, want ErrExists", err)
	}
}

func TestWhereNoFolderCanBeMadeTheErrorSaysSo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		t.Skipf("a folder in use cannot be removed here: %v", err)
	}
	if _, err := NewFolder("x", time.Now()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want ErrNotExist", err)
	}
}
