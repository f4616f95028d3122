//go:build unix

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFolderWithAPipeInItIsRefusedByEveryCommandThatReadsOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := filepath.Join(dir, "run")
	if err := errors.Join(os.Mkdir(run, 0o700),
		os.WriteFile(filepath.Join(run, "samples.csv"), []byte("t_ms,rss_bytes\n0,1\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "good.csv"), []byte("t_ms,rss_bytes\n0,1\n"), 0o600),
		syscall.Mkfifo(filepath.Join(run, "events.jsonl"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"report", "run"}, {"report", "run", "--redact", "-o", "copy"}, {"diff", "run", "good.csv"},
		{"diff", "good.csv", "run"},
		{"export", "run", "--to", "junit"},
	} {
		got := gpumem(t, dir, args...)
		want := "gpumem: open run run: events.jsonl is a pipe: a run folder holds regular files only; " +
			"remove it, or put the file itself there\n"
		if got.code != exitFailed || got.stderr != want || got.stdout != "" {
			t.Errorf("gpumem %v: exit code %d, %q, %q", args, got.code, got.stderr, got.stdout)
		}
	}
}

func TestAPipeIsReadLikeAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// more than a pipe holds, and than is looked at to know it
	csv := "t_ms,rss_bytes\n" + strings.Repeat("0,1\n", 40_000)
	log := "Thread,Time,Action,Pointer,Size,Stream\n1,10:00:00.000001,allocate,0x1,8,0x0\n"
	for name, c := range map[string]struct {
		text, want string
		code       int
	}{
		"samples":     {csv, `"samples":40000`, exitDone},
		"a recording": {log, `"samples":1`, exitDone},
		"zeros":       {strings.Repeat("\x00", 3<<20), "not a samples CSV", exitFailed},
		"nothing":     {"", "is empty", exitFailed},
	} {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		go func() {
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				f.WriteString(c.text)
				f.Close()
			}
		}()
		got := gpumem(t, dir, "report", name, "--json")
		if got.code != c.code ||
			!strings.Contains(strings.ReplaceAll(got.stdout, " ", "")+got.stderr, c.want) {
			t.Errorf("%s: exit code %d, %.300s%.300s", name, got.code, got.stderr, got.stdout)
		}
	}
	if got := gpumem(t, dir, "report", "/dev/zero"); got.code != exitFailed ||
		strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("/dev/zero: exit code %d, %s", got.code, got.stderr)
	}
}
