//go:build unix

package record

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const killedFolder = "GPUMEM_TEST_KILLED_FOLDER"

// TestWriteUntilKilled is the program of the next test.
func TestWriteUntilKilled(t *testing.T) {
	dir := os.Getenv(killedFolder)
	if dir == "" {
		t.Skip("this is the program of another test")
	}
	w, err := Create(dir, Meta{Command: []string{"x"}, PID: 1}, CreateOptions{Keep: littleRoom})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		at := time.Duration(i) * 50 * time.Millisecond
		if err := w.Sample(Row{T: at, Cells: []Cell{{ColStep, int64(i)}, {ColGPU, int64(i * i % 1000)}}}); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			if err := w.Event(Event{TMs: at.Seconds() * 1000, Kind: KindHolders,
				Holders: []Holder{{Path: strings.Repeat("x", 100), Bytes: int64(i)}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAKillAtAnyMomentLeavesAThinnedFolderReadable(t *testing.T) {
	t.Parallel()
	thinned := 0
	for i := range 12 {
		dir := filepath.Join(t.TempDir(), "run")
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriteUntilKilled$")
		cmd.Env = append(os.Environ(), killedFolder+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 { // half of them die at any moment, the others after a first thinning
			waitThinned(t, dir)
		} else {
			waitBegun(t, dir)
		}
		time.Sleep(rand.N(800 * time.Millisecond))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() //nolint:errcheck // it was killed
		run, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range run.Warnings {
			if !strings.Contains(w.Text, "last line is cut short") && !strings.Contains(w.Text, "no samples") &&
				w.Text != "the file is empty" {
				t.Errorf("warning %v", w)
			}
		}
		if at := run.Samples.Column(ColTime); !slices.IsSorted(at) || len(at) > 0 && at[0] != 0 {
			t.Error("the rows are out of order, or the first has gone")
		}
		if run.Samples.Column(ColThinned) != nil {
			thinned++
		}
		if n := folderSize(t, dir); n > littleRoom {
			t.Errorf("the folder takes %d bytes", n)
		}
	}
	if thinned < 4 {
		t.Errorf("%d of 12 runs were thinned when they were killed", thinned)
	}
}

// waitBegun waits until a writer has made its folder: on a busy machine a process takes long to start.
func waitBegun(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, FileMeta)); err == nil {
			return
		}
	}
	t.Fatal("no folder in a minute")
}

// waitThinned waits until a writer has thinned its rows: their header then has a column for it.
func waitThinned(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		head := make([]byte, 256)
		if f, err := os.Open(filepath.Join(dir, FileSamples)); err == nil {
			n, _ := f.Read(head)
			f.Close()
			if line, _, _ := strings.Cut(string(head[:n]), "\n"); strings.Contains(line, ColThinned) {
				return
			}
		}
	}
	t.Fatal("nothing was thinned in a minute")
}
