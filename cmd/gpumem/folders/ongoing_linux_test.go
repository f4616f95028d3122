package folders

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestARecordingOfAnotherFolderIsFoundByItsOpenFile(t *testing.T) {
	t.Parallel()
	proc, run := t.TempDir(), filepath.Join(t.TempDir(), "r")
	for name, program := range map[string]string{"7": "gpumem\n", "8": "bash\n", "9": ".got-gpumem\n"} {
		if err := os.MkdirAll(filepath.Join(proc, name, "fd"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, name, "comm"), []byte(program), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for fd, to := range map[string]string{
		"7/fd/3": "/dev/null", "8/fd/3": "/elsewhere/samples.csv", "9/fd/5": filepath.Join(run, "samples.csv"),
		"7/fd/4": "pipe:[12]",
	} {
		if err := os.Symlink(to, filepath.Join(proc, fd)); err != nil {
			t.Fatal(err)
		}
	}
	if got := writtenElsewhere(proc); len(got) != 1 || got[0] != run {
		t.Errorf("got %q, want %q", got, run)
	}
}

func TestOfTheRecordingsThatGoOnTheLatestIsWatched(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	for name, began := range map[string]time.Time{"a": now.Add(-time.Hour), "b": now.Add(-time.Minute), "ended": now} {
		w, err := record.Create(filepath.Join(dir, name), record.Meta{PID: 1, Start: began}, record.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if name == "ended" {
			if err := w.UpdateMeta(func(m *record.Meta) { m.End = &now }); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := latestOf(recordingPaths(dir)); got != filepath.Join(dir, "b") {
		t.Errorf("watched: %q", got)
	}
	if got := latestOf([]string{filepath.Join(dir, "ended")}); got != "" {
		t.Errorf("one that has ended is taken to go on: %q", got)
	}
}
