package record

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestADeviceThatIsAlwaysFullLosesEveryRow writes to /dev/full, which fails as
// a full disk does.
func TestADeviceThatIsAlwaysFullLosesEveryRow(t *testing.T) {
	t.Parallel()
	w := create(t, CreateOptions{})
	if err := os.Symlink("/dev/full", filepath.Join(w.Dir(), FileEvents)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := w.Event(Event{Kind: KindStep}); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %v", err)
		}
	}
	if s := w.Stats(); s.LostEvents != 3 || s.Events != 0 {
		t.Errorf("%+v", s)
	}
}
