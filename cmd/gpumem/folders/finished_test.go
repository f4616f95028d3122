package folders

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestWatchNamesTheNewestRecordingWhereNoneGoesOn(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	if got := FinishedText(dir); got != "" {
		t.Errorf("a folder without recordings is told as %q", got)
	}
	for name, began := range map[string]time.Time{"older": now.Add(-time.Hour), "newer": now.Add(-time.Minute)} {
		w, err := record.Create(filepath.Join(dir, name), record.Meta{PID: 1, Start: began}, record.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.UpdateMeta(func(m *record.Meta) { m.End = &now }); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := FinishedText(dir); !strings.HasSuffix(got, "to play it back: gpumem watch "+filepath.Join(dir, "newer")) {
		t.Errorf("told: %q", got)
	}
}
