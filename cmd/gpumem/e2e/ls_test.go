package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/folders"
	"github.com/gpumem/gpumem/tracer/record"
)

// recordedAgo makes a run folder that began and ended so long ago; one without an end
// still runs.
func recordedAgo(t *testing.T, dir, name string, began, ended time.Duration) string {
	t.Helper()
	path := filepath.Join(dir, name)
	start := time.Now().Add(-began)
	w, err := record.Create(path, record.Meta{Start: start, Command: []string{"train"}}, record.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.UpdateMeta(func(m *record.Meta) {
		if ended > 0 {
			end := time.Now().Add(-ended)
			m.End = &end
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRecordingsAreListedNewestFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recordedAgo(t, dir, "old", 48*time.Hour, 47*time.Hour)
	recordedAgo(t, dir, "new", time.Hour, 30*time.Minute)
	if err := os.Mkdir(filepath.Join(dir, "no-recording"), 0o700); err != nil {
		t.Fatal(err)
	}
	var list []folders.Recording
	if got := gpumem(t, dir, "ls", "--json"); json.Unmarshal([]byte(got.stdout), &list) != nil || len(list) != 2 ||
		list[0].Path != "new" || list[1].Path != "old" || list[1].Seconds == nil || *list[1].Seconds < 3599 {
		t.Errorf("%+v", got)
	}
	if got := gpumem(t, dir, "ls"); !strings.Contains(got.stdout, "RECORDING") || got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := gpumem(t, dir, "ls", "no-recording"); !strings.Contains(got.stderr, "no recordings") {
		t.Errorf("%+v", got)
	}
}

func TestTheNewestRecordingIsReportedWithoutAPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := gpumem(t, dir, "report"); got.code != 2 || !strings.Contains(got.stderr, "no recording here") {
		t.Errorf("%+v", got)
	}
	recordedAgo(t, dir, "old", 48*time.Hour, 47*time.Hour)
	new := recordedAgo(t, dir, "new", time.Hour, 30*time.Minute)
	samples := "t_ms,rss_bytes\n0,4096\n50,4096\n"
	if err := os.WriteFile(filepath.Join(new, record.FileSamples), []byte(samples), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := gpumem(t, dir, "report"); got.code != 0 || !strings.Contains(got.stdout, "2 samples") {
		t.Errorf("%+v", got)
	}
}

func TestCleanRemovesWhatIsOldAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := recordedAgo(t, dir, "old", 240*time.Hour, 239*time.Hour)
	kept := map[string]string{
		"young":       recordedAgo(t, dir, "young", 3*time.Hour, 2*time.Hour),
		"it runs yet": recordedAgo(t, dir, "running", 240*time.Hour, 0),
		"more in it":  recordedAgo(t, dir, "more", 240*time.Hour, 239*time.Hour),
	}
	mine := filepath.Join(kept["more in it"], "notes.txt")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := gpumem(t, dir, "clean"); got.code != 2 || !strings.Contains(got.stderr, "confirm with --yes") {
		t.Errorf("without a terminal: %+v", got)
	}
	got := gpumem(t, dir, "clean", "--older", "7d", "--yes")
	if got.code != 1 || !strings.Contains(got.stderr, "more stays") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the old one is still there")
	}
	for name, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	for _, age := range []string{"week", "-1h", "-2d", ""} {
		if got := gpumem(t, dir, "clean", "--older", age); got.code != 2 {
			t.Errorf("--older %q: %+v", age, got)
		}
	}
}
