package tracer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sharedHeader = "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid" +
	"      atime      dtime      ctime                   rss                  swap\n"

func TestSegmentsThatAProgramLeavesBehindAreTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := filepath.Join(dir, "table")
	write := func(name string, size int) {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old", 20<<20)
	write("table", 0)
	before := readSegments(dir, table)

	if err := os.Mkdir(filepath.Join(dir, "gpumem-capture-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("gpumem-capture-1/1.0.ring", 20<<20) // our own
	write("small", 1<<20)
	if text := readSegments(dir, table).leftOf(before); text != "" {
		t.Errorf("ours, and a little: %s", text)
	}
	write("table", 0)
	if err := os.WriteFile(table, []byte(sharedHeader+"         0         7   600              33554432   "+
		"100   100      0     0     0     0     0          0          0 1764140000              33554432"+
		"                     0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := readSegments(dir, table).leftOf(before)
	for _, want := range []string{"2 segments", "still there, with 33 MiB", "shmid 7", "shm_unlink"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if strings.Contains(text, "/old") || strings.Contains(text, "ring") {
		t.Errorf("what was here before, or ours: %s", text)
	}
	write("used", 30<<20)
	if err := os.Mkdir(filepath.Join(dir, "77"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("77/maps", 0)
	line := "7f0000000000-7f0001e00000 rw-s 00000000 00:1a 5    " + filepath.Join(dir, "used") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "77/maps"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	now := readSegments(dir, table)
	now.withoutMapped(dir)
	if text := now.leftOf(before); !strings.Contains(text, "with 33 MiB") {
		t.Errorf("one that a process has mapped is in use: %s", text)
	}
	if text := before.leftOf(before); text != "" {
		t.Errorf("none: %s", text)
	}
}

func TestSegmentsThatNoProcessUsesAreToldWhileTheProgramRuns(t *testing.T) {
	t.Parallel()
	before := segments{"/dev/shm/old": 30 << 20}
	last := segments{}
	at := func(now segments) string { return now.notedIn(&last).unusedOf(before) }
	if text := at(segments{"/dev/shm/old": 30 << 20, "/dev/shm/a": 20 << 20}); text != "" {
		t.Errorf("on its way from one process to another: %s", text)
	}
	text := at(segments{"/dev/shm/a": 20 << 20, "/dev/shm/b": 20 << 20})
	for _, want := range []string{"20 MiB of shared memory", "(1: /dev/shm/a)", "Unlink"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if text := at(segments{"/dev/shm/c": 20 << 20}); text != "" {
		t.Errorf("all others are gone: %s", text)
	}
}
