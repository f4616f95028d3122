package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deadFile fails as a file of a file system that went read-only.
type deadFile struct{ appendFile }

func (deadFile) Write([]byte) (int, error) { return 0, syscall.EROFS }

func TestAFolderThatComesBackWithoutItsLastRowsGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left func(whole []byte) []byte // what the new mount has of samples.csv; nil is no file
		rows string
		gone bool
	}{
		"all": {func(b []byte) []byte { return b }, "0 1 2 3 7 8", false},
		"a whole row less": {func(b []byte) []byte { return b[:bytes.LastIndex(b[:len(b)-1], []byte("\n"))+1] },
			"0 1 2 7 8", true},
		"a cut row":    {func(b []byte) []byte { return b[:len(b)-3] }, "0 1 2 7 8", true},
		"a cut header": {func(b []byte) []byte { return b[:4] }, "7 8", true},
		"nothing":      {func([]byte) []byte { return []byte{} }, "7 8", true},
		"no file":      {func([]byte) []byte { return nil }, "7 8", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := create(t, CreateOptions{})
			dead, locked := false, w.lock != nil
			w.rows.open = func(path string) (appendFile, int64, error) {
				f, size, err := openAppend(path)
				if err == nil && dead {
					return deadFile{f}, size, nil
				}
				return f, size, err
			}
			sample := func(n int) error {
				return w.Sample(Row{T: time.Duration(n) * time.Millisecond, Cells: cells("rss_bytes", 123456+n)})
			}
			for n := range 4 {
				if err := sample(n); err != nil {
					t.Fatal(err)
				}
			}
			dead = true
			w.rows.file = deadFile{w.rows.file}
			for n := 4; n < 7; n++ {
				if err := sample(n); !errors.Is(err, syscall.EROFS) {
					t.Fatalf("row %d: %v", n, err)
				}
				if w.rows.file != nil || w.lock != nil {
					t.Fatal("a file of the dead folder is still open")
				}
			}
			dead = false
			comesBack(t, filepath.Join(w.Dir(), FileSamples), c.left)
			if err := sample(7); errors.Is(err, ErrGone) != c.gone || !c.gone && err != nil {
				t.Errorf("the first row after it: %v", err)
			}
			if err := sample(8); err != nil || (w.lock != nil) != locked {
				t.Errorf("the second row after it: %v; lock %v", err, w.lock)
			}
			if s := w.Stats(); s.LostRows != 3 {
				t.Errorf("%+v", s)
			}
			if got := rowTimes(t, w); got != c.rows {
				t.Errorf("rows %s, want %s", got, c.rows)
			}
		})
	}
}

// comesBack leaves of a file what a new mount has of it.
func comesBack(t *testing.T, path string, left func([]byte) []byte) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b := left(whole); b == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// rowTimes are the times of the rows of a folder, in milliseconds.
func rowTimes(t *testing.T, w *Writer) string {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := Open(w.Dir())
	if err != nil || len(run.Warnings) > 0 {
		t.Fatal(err, run.Warnings)
	}
	var out []string
	for i, at := range run.Samples.Column(ColTime) {
		if want := 123456 + at; run.Samples.Column(ColRSS)[i] != want {
			t.Errorf("the row at %v has %v", at, run.Samples.Column(ColRSS)[i])
		}
		out = append(out, string(rune('0'+int(at))))
	}
	return strings.Join(out, " ")
}
