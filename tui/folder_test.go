package tui

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestAFolderBeingWrittenIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(dir, record.Meta{PID: 42, Start: time.Now()}, record.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := OpenFolder(dir, FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if folder.Player() != nil {
		t.Fatal("a run that goes on is played back")
	}
	for i := range 50 {
		cells := leakRow(i)
		if i < 25 {
			cells = cells[:3] // columns that come later make the file be replaced
		}
		if err := w.Sample(record.Row{T: time.Duration(i) * time.Millisecond, Cells: cells}); err != nil {
			t.Fatal(err)
		}
		if i == 24 {
			waitFor(t, folder, "the first 25 rows", func(f *Frame) bool { return f.Rows == 25 })
		}
	}
	if err := os.WriteFile(filepath.Join(dir, record.FileStderr), []byte("a complaint\nhalf a line"),
		0o644); err != nil {
		t.Fatal(err)
	}
	f := waitFor(t, folder, "all rows and the output",
		func(f *Frame) bool { return f.Rows >= 50 && len(f.Output) == 1 })
	if f.Rows != 50 || f.Done || f.Output[0] != (OutputLine{true, "a complaint"}) || f.Processes[0].PID != 42 {
		t.Errorf("%d rows, done %v, output %+v, process %+v", f.Rows, f.Done, f.Output, f.Processes[0].PID)
	}
	now := time.Now()
	if err := w.UpdateMeta(func(m *record.Meta) { m.End = &now }); err != nil {
		t.Fatal(err)
	}
	w.Close()
	waitFor(t, folder, "the end", func(f *Frame) bool { return f.Done && f.State == Ended })
}

func TestAFinishedRunIsPlayedHeldSoughtAndRewound(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, 400, true)
	folder, err := OpenFolder(dir, FolderOptions{Speed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	p := folder.Player()
	if p == nil {
		t.Fatal("a finished run is not played back")
	}
	p.SetSpeed(0)
	held := waitFor(t, folder, "a held playback", func(f *Frame) bool {
		return f.Play != nil && !f.Play.Loading &&
			f.Play.Speed == 0
	})
	if held.Done || held.Rows >= 400 {
		t.Errorf("held at %d of 400 rows, done %v", held.Rows, held.Done)
	}
	p.Seek(math.Inf(1))
	waitFor(t, folder, "all rows and a verdict", func(f *Frame) bool {
		return f.Done && f.Rows == 400 &&
			f.Judged.Verdict != nil && len(f.Sites) == 2
	})
	p.Seek(1000)
	back := waitFor(t, folder, "an earlier time", func(f *Frame) bool { return !f.Done })
	if back.Rows != 21 || back.ElapsedMs != 1000 || len(back.Sites) != 0 {
		t.Errorf("at 1,000 ms: %d rows, %v ms, %d sites; want 21, 1000, none", back.Rows,
			back.ElapsedMs, len(back.Sites))
	}
	p.SetSpeed(fastest)
	waitFor(t, folder, "the end again", func(f *Frame) bool { return f.Done && f.Rows == 400 })
}

func TestABareCSVIsPlayedAndNoRunIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csv")
	if err := os.WriteFile(path, []byte("t_ms,rss_bytes\n0,1048576\n100,2097152\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder, err := OpenFolder(path, FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	folder.Player().Seek(math.Inf(1))
	f := waitFor(t, folder, "both rows", func(f *Frame) bool { return f.Rows == 2 })
	if f.Now[seriesRSS] != 2*mib {
		t.Errorf("the last row is %v", f.Now[seriesRSS])
	}
	for _, bad := range []string{dir, filepath.Join(dir, "absent")} {
		if _, err := OpenFolder(bad, FolderOptions{}); err == nil {
			t.Errorf("%s was opened", bad)
		}
	}
}
