package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func keepMeta(*Meta) error { return nil }

func TestARunThatWasLeftGoesOnInItsFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, Meta{PID: 1}, CreateOptions{Keep: littleRoom})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir, keepMeta, CreateOptions{}); w.lock != nil && !errors.Is(err, ErrInUse) {
		t.Errorf("a folder that is being written is resumed: %v", err)
	}
	if err := w.Event(Event{TMs: 5, Kind: KindPhase, Name: PhaseBaseline}); err != nil {
		t.Fatal(err)
	}
	longRun(t, w, 20_000, 1)
	w.mu.Lock() // as a kill does: nothing goes on, and the lock is free
	w.closed = true
	w.endThinning()
	w.unlock()
	w.mu.Unlock()
	for name, torn := range map[string]string{FileSamples: "99999999.0,1", FileEvents: `{"t_ms":9`, FileSamples +
		thinnedSuffix: "t"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, fileMode)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(torn); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	again, err := Resume(dir, func(m *Meta) error { m.IntervalMs = 7; return nil }, CreateOptions{Keep: littleRoom})
	if err != nil {
		t.Fatal(err)
	}
	if again.keep.rows.level == 0 || len(again.keep.marks) != 1 {
		t.Errorf("thinned to level %d, %d marks", again.keep.rows.level, len(again.keep.marks))
	}
	for i := range 30_000 {
		at := 2000*time.Second + time.Duration(i)*50*time.Millisecond
		if err := again.Sample(Row{T: at, Cells: []Cell{{ColPID, 100}, {ColGPU, int64(i)}, {ColLive, 3}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(again.Event(Event{TMs: 6, Kind: KindPhase, Name: PhaseReleased}), again.Close()); err != nil {
		t.Fatal(err)
	}
	run, err := Open(dir)
	if err != nil || len(run.Warnings) > 0 {
		t.Fatal(err, run.Warnings)
	}
	at := run.Samples.Column(ColTime)
	if at[0] != 0 || at[len(at)-1] != 2_000_000+29_999*50 || len(run.Events) != 2 || run.Meta.IntervalMs != 7 {
		t.Errorf("from %v to %v, %d events, %+v", at[0], at[len(at)-1], len(run.Events), run.Meta)
	}
	if n := folderSize(t, dir); n > littleRoom {
		t.Errorf("the folder takes %d bytes", n)
	}
	if err := errors.Join(w.rows.close(), w.events.close()); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNoRunFolderIsNotResumed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Resume(filepath.Join(dir, "none"), keepMeta, CreateOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	refused := errors.New("of another process")
	if err := os.WriteFile(filepath.Join(dir, FileMeta), []byte(`{"schema":1}`), fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir, func(*Meta) error { return refused }, CreateOptions{}); !errors.Is(err, refused) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileSamples), []byte("a,b\n1,2\n"), fileMode); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir, keepMeta, CreateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "not those of a recording") {
		t.Error(err)
	}
}
