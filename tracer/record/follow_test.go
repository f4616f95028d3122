package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// taken is what a follower handed out, a line each.
type taken struct {
	lines []string
	ended bool
}

func (t *taken) taker() Taker {
	add := func(format string, args ...any) { t.lines = append(t.lines, fmt.Sprintf(format, args...)) }
	return Taker{
		Meta:   func(m Meta) { t.ended = m.End != nil },
		Row:    func(pid int, tMs float64, cells []Cell) { add("row %d %v %v", pid, tMs, cells) },
		Event:  func(e Event) { add("event %s %s", e.Kind, e.Name) },
		Output: func(stderr bool, line []byte) { add("output %v %s", stderr, line) },
	}
}

// all reads until there is no more.
func all(t *testing.T, f *Follower) {
	t.Helper()
	for {
		more, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

func TestAFollowedRunGivesEachLineOnceOverNewColumnsAndProcesses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	var got taken
	f := Follow(dir, time.Time{}, got.taker())
	defer f.Close()
	all(t, f) // not there yet
	w, err := Create(dir, Meta{PID: 10, Start: time.Now()}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sample := func(ms int, cells ...Cell) {
		t.Helper()
		if err := w.Sample(Row{T: time.Duration(ms) * time.Millisecond, Cells: cells}); err != nil {
			t.Fatal(err)
		}
	}
	sample(0, Cell{ColRSS, 1})
	sample(10, Cell{ColRSS, 2})
	all(t, f)
	sample(20, Cell{ColPID, 11}, Cell{ColRSS, 3}, Cell{ColLive, 7})
	if err := w.Event(Event{Kind: KindPhase, Name: PhaseBaseline, TMs: 1}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileStderr), []byte("a complaint\nhalf a line"), 0o644); err != nil {
		t.Fatal(err)
	}
	all(t, f)
	want := []string{
		"row 10 0 [{rss_bytes 1}]", "row 10 10 [{rss_bytes 2}]", "row 11 20 [{rss_bytes 3} {pool_live_bytes 7}]",
		"event phase baseline", "output true a complaint",
	}
	slices.Sort(got.lines[2:])
	slices.Sort(want[2:])
	if !slices.Equal(got.lines, want) {
		t.Errorf("got  %q\nwant %q", got.lines, want)
	}
}

func TestFollowingEndsWithTheRunAndHasAllOfIt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, Meta{PID: 10, Start: time.Now()}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		if err := w.Sample(Row{T: time.Duration(i) * time.Millisecond, Cells: []Cell{{ColRSS, int64(i)}}}); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	if err := w.UpdateMeta(func(m *Meta) { m.End = &now }); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got taken
	f := Follow(dir, time.Time{}, got.taker())
	defer f.Close()
	if !f.Run(context.Background(), time.Millisecond) || len(got.lines) != 3000 || !got.ended {
		t.Errorf("%d lines, ended %v", len(got.lines), got.ended)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Errorf("closing it, and once more: %v", err)
	}
}

func TestARunThatIsBeingReplacedIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, Meta{PID: 10, Start: time.Now().Add(-time.Hour)}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sample(Row{Cells: []Cell{{ColRSS, 1}}}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var got taken
	f := Follow(dir, time.Now(), got.taker())
	defer f.Close()
	if all(t, f); len(got.lines) != 0 {
		t.Errorf("of the old run came %q", got.lines)
	}
}

func TestALineFollowerSeesEveryLineOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	f := newLineFollower(filepath.Dir(path), filepath.Base(path))
	f.headed, f.at = true, func(line []byte) float64 {
		first, _, _ := strings.Cut(string(line), ",")
		at, err := strconv.ParseFloat(first, 64)
		if err != nil {
			return Unknown()
		}
		return at
	}
	defer f.close()
	var got []string
	read := func() {
		for {
			more, err := f.read(func(line []byte, first bool) { got = append(got, fmt.Sprintf("%s %v", line, first)) })
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				return
			}
		}
	}
	write := func(flag int, text string) {
		file, err := os.OpenFile(path, flag|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(text string) {
		if err := os.WriteFile(path+"2", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"2", path); err != nil {
			t.Fatal(err)
		}
	}
	read() // not there yet
	write(os.O_APPEND, "a,b\r\n1,2\n3,")
	read()
	write(os.O_APPEND, "4\n")
	read()
	replace("a,b,c\n1,2,\n3,4,\n5,6,7\n")
	read()
	write(os.O_APPEND, strings.Repeat("x", 2*maxLine)+"\n8,9,10\n")
	read()
	write(os.O_APPEND, strings.Repeat("x", 2*maxLine)) // cut off: the next file has a header all the same
	read()
	replace("a,b,c,d\n1,2,,\n3,4,,\n5,6,7,\n-\n8,9,10,\n11,12,13,14\n")
	read()
	want := []string{
		"a,b true", "1,2 false", "3,4 false", "a,b,c true", "5,6,7 false", "8,9,10 false",
		"a,b,c,d true", "11,12,13,14 false",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d lines, want %q", len(got), want)
	}
}

func FuzzFollowedRow(f *testing.F) {
	f.Add([]byte("t_ms,pid,rss_bytes"), []byte("1.5,42,4096"))
	f.Add([]byte("\xef\xbb\xbf\"t_ms\",\"a,b\""), []byte(",,"))
	f.Add([]byte("rss_bytes"), []byte("1"))
	f.Fuzz(func(t *testing.T, header, line []byte) {
		if bytes.ContainsAny(header, "\n") || bytes.ContainsAny(line, "\n") {
			return
		}
		follower := Follower{table: tableOf(header)}
		if follower.table == nil {
			return
		}
		_, at, cells, ok := follower.row(line)
		if ok == math.IsNaN(at) {
			t.Fatalf("time %v, ok %v", at, ok)
		}
		for _, c := range cells {
			if c.Column == "" || c.Column == ColTime || c.Column == ColPID {
				t.Fatalf("cell %+v is none", c)
			}
		}
	})
}
