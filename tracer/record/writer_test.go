package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func create(t testing.TB, o CreateOptions) *Writer {
	w, err := Create(filepath.Join(t.TempDir(), "deep", "run"), Meta{Command: []string{"x"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// cells makes cells of name, value pairs.
func cells(pairs ...any) []Cell {
	var list []Cell
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, Cell{Column: pairs[i].(string), Value: int64(pairs[i+1].(int))})
	}
	return list
}

func read(t *testing.T, dir, name string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWriterWritesRowsAndGrowsColumns(t *testing.T) {
	t.Parallel()
	w := create(t, CreateOptions{})
	for i, r := range []Row{
		{T: 0, Cells: cells("rss_bytes", 10)},
		{T: 50125 * time.Microsecond, Cells: cells("rss_bytes", 20, "step", 1, "step", 2)},
		{T: 1500 * time.Nanosecond, Cells: cells("step", -3)},
		{T: time.Hour, Cells: cells("odd, name", 7, "gpu_bytes@1", 8)},
		{T: -time.Millisecond},
	} {
		if err := w.Sample(r); err != nil {
			t.Fatal(i, err)
		}
	}
	want := "t_ms,rss_bytes,step,\"odd, " +
		"name\",gpu_bytes@1\n0.000,10,,,\n50.125,20,2,,\n0.001,,-3,,\n3600000.000,,,7,8\n-1.000,,,,\n"
	if got := read(t, w.Dir(), FileSamples); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if err := w.Close(); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Sample(Row{}), w.Event(Event{}), w.UpdateMeta(nil)); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	run, err := Open(w.Dir())
	if err != nil || run.Meta.Sampling.Rows != 5 || run.Meta.Schema != 1 || run.Samples.Len() != 5 {
		t.Errorf("%+v, %v", run, err)
	}
	if left, _ := filepath.Glob(filepath.Join(w.Dir(), "*"+tmpSuffix)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWriterLeavesOutUnfitColumnsAndKeepsTheRow(t *testing.T) {
	t.Parallel()
	w := create(t, CreateOptions{})
	if err := w.Sample(Row{Cells: cells("", 1, "a\nb", 2, strings.Repeat("x", 200), 3, "step",
		4)}); !errors.Is(err, ErrColumn) {
		t.Errorf("got %v", err)
	}
	var many []Cell
	for i := range 600 {
		many = append(many, Cell{Column: fmt.Sprint("c", i), Value: int64(i)})
	}
	if err := w.Sample(Row{Cells: many}); !errors.Is(err, ErrColumn) {
		t.Errorf("got %v", err)
	}
	if s := w.Stats(); s.Rows != 2 || s.LostRows != 0 || s.LostCells != 3+600-(maxWrittenColumns-2) {
		t.Errorf("%+v", s)
	}
	header, _, _ := strings.Cut(read(t, w.Dir(), FileSamples), "\n")
	if n := strings.Count(header, ",") + 1; n != maxWrittenColumns {
		t.Errorf("%d columns", n)
	}
}

func TestCreateRefusesAFolderAndForceReplacesOnlyItsOwnFiles(t *testing.T) {
	t.Parallel()
	w := create(t, CreateOptions{})
	w.Sample(Row{Cells: cells("step", 1)})
	w.Close()
	for _, name := range []string{"mine.txt", FileVerdict, FileSamples + tmpSuffix} {
		if err := os.WriteFile(filepath.Join(w.Dir(), name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Create(w.Dir(), Meta{}, CreateOptions{}); !errors.Is(err, ErrExists) {
		t.Fatalf("got %v", err)
	}
	again, err := Create(w.Dir(), Meta{}, CreateOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	entries, err := os.ReadDir(w.Dir())
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{"mine.txt", FileMeta}) {
		t.Errorf("left %v, %v", names, err)
	}
	file := filepath.Join(w.Dir(), "mine.txt")
	if _, err := Create(file, Meta{}, CreateOptions{Force: true}); err == nil || read(t, w.Dir(), "mine.txt") != "x" {
		t.Errorf("a file in the place of the folder: %v", err)
	}
}

func TestEventsComeBackAsWritten(t *testing.T) {
	t.Parallel()
	w := create(t, CreateOptions{})
	claimed := int64(0)
	events := []Event{
		{TMs: 1.5, PID: 3, Kind: KindPhase, Name: "<b>\n\x00", At: "a:1:2", Step: 9},
		{Kind: KindReceipt, Receipt: &Receipt{Action: "purge", ClaimedBytes: &claimed}},
		{Kind: "a kind of later", Detail: []byte(`{"x":[1]}`)},
	}
	for _, e := range events {
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Event(Event{Kind: "x", Detail: []byte("{broken")}); err == nil {
		t.Error("an event that is not JSON was written")
	}
	w.Close()
	run, err := Open(w.Dir())
	if err != nil || len(run.Events) != 3 || run.Events[0].Name != events[0].Name ||
		*run.Events[1].Receipt.ClaimedBytes != 0 ||
		run.Events[1].Receipt.ReturnedBytes != nil || string(run.Events[2].Detail) != `{"x":[1]}` ||
		run.Meta.Sampling.LostEvents != 1 {
		t.Errorf("%+v, %v", run.Events, err)
	}
}

func TestAnEventTooLongKeepsItsLargestSites(t *testing.T) {
	t.Parallel()
	w := create(t, CreateOptions{})
	var sites []Site
	for i := range 30_000 {
		sites = append(sites, Site{Site: strings.Repeat("s", 60), Bytes: int64(i)})
	}
	if err := w.Event(Event{Kind: KindSites, Sites: sites}); err != nil {
		t.Fatal(err)
	}
	if err := w.Event(Event{Kind: KindEvent, Name: strings.Repeat("n", 2<<20)}); err == nil {
		t.Error("a line over 1 MiB was written")
	}
	run, err := Open(w.Dir())
	if err != nil || len(run.Events) != 1 || len(run.Warnings) != 1 {
		t.Fatal(run, err)
	}
	e := run.Events[0]
	if e.Sites[0].Bytes != 29_999 || !strings.Contains(e.Text,
		fmt.Sprint(30_000-len(e.Sites), " smaller ones left out")) || sites[0].Bytes != 0 {
		t.Errorf("%d sites, first %d, %q", len(e.Sites), e.Sites[0].Bytes, e.Text)
	}
}

// fullDisk is a file on a disk that takes room more bytes.
type fullDisk struct {
	appendFile
	room       *int
	noTruncate bool
}

var errFull = errors.New("no space left")

func (f fullDisk) Write(p []byte) (int, error) {
	if len(p) <= *f.room {
		*f.room -= len(p)
		return f.appendFile.Write(p)
	}
	n, err := f.appendFile.Write(p[:*f.room])
	*f.room = 0
	return n, errors.Join(err, errFull)
}

func (f fullDisk) Truncate(size int64) error {
	if f.noTruncate {
		return errFull
	}
	return f.appendFile.Truncate(size)
}

// TestAFullDiskLosesRowsButNeverBreaksALine fills the disk at every byte of a
// recording and frees it again: every row that was reported written must be in
// the file, and no other, with no cell cut.
func TestAFullDiskLosesRowsButNeverBreaksALine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for _, noTruncate := range []bool{false, true} {
		for room := range 140 {
			dir := t.TempDir()
			w, err := Create(filepath.Join(dir, "run"), Meta{}, CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			free := room
			open := func(path string) (appendFile, int64, error) {
				f, size, err := openAppend(path)
				return fullDisk{appendFile: f, room: &free, noTruncate: noTruncate}, size, err
			}
			w.rows.open, w.events.open = open, open
			var rows, events []string
			for n := range 12 {
				if n == 8 {
					free = 1 << 20
				}
				if err := w.Sample(Row{T: time.Duration(n) * time.Millisecond,
					Cells: cells("rss_bytes", 123456+n)}); err == nil {
					rows = append(rows, fmt.Sprintf("%d,%d", n, 123456+n))
				} else if !errors.Is(err, errFull) {
					t.Fatal(err)
				}
				if err := w.Event(Event{Kind: KindStep, Step: int64(n + 1)}); err == nil {
					events = append(events, fmt.Sprint(n+1))
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			run, err := Open(w.Dir())
			if err != nil {
				t.Fatal(err)
			}
			var got, gotEvents []string
			for i, ms := range run.Samples.Column(ColTime) {
				if rss := run.Samples.Column(ColRSS)[i]; !IsUnknown(rss) {
					got = append(got, fmt.Sprintf("%g,%.0f", ms, rss))
				}
			}
			for _, e := range run.Events {
				gotEvents = append(gotEvents, fmt.Sprint(e.Step))
			}
			if !slices.Equal(got, rows) || !slices.Equal(gotEvents, events) {
				t.Fatalf("room %d, truncate %v: rows %v, want %v; events %v, want %v\n%s", room, !noTruncate, got, rows,
					gotEvents, events, read(t, w.Dir(), FileSamples))
			}
			if s := run.Meta.Sampling; s.LostRows != int64(12-len(rows)) || s.LostEvents != int64(12-len(events)) ||
				s.Rows != int64(len(rows)) {
				t.Errorf("room %d: %+v", room, s)
			}
			if !noTruncate && len(run.Warnings) != 0 {
				t.Errorf("room %d: a repaired file has warnings %v", room, run.Warnings)
			}
		}
	}
}

func TestWriterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	w := create(t, CreateOptions{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 50 {
				w.Sample(Row{Cells: cells("step", n, fmt.Sprint("c", g, n%3), n)})
				w.Event(Event{Kind: KindStep})
				w.UpdateMeta(func(m *Meta) { m.PID++ })
			}
		})
	}
	wg.Wait()
	w.Close()
	run, err := Open(w.Dir())
	if err != nil || run.Samples.Len() != 400 || len(run.Events) != 400 || run.Meta.PID != 400 ||
		len(run.Samples.Names()) != 2+24 {
		t.Errorf("%d rows, %d events, pid %d, %v", run.Samples.Len(), len(run.Events), run.Meta.PID, err)
	}
}

func TestOpenReadsWhatAKillLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		rows  int
		warns []string
		err   error
	}{
		"nothing":       {nil, 0, nil, ErrNotRun},
		"only run.json": {map[string]string{FileMeta: `{"schema":1}`}, 0, []string{"samples.csv: no samples"}, nil},
		"only samples":  {map[string]string{FileSamples: "t_ms,step\n1,1\n"}, 1, []string{"run.json"}, nil},
		"cut everywhere": {map[string]string{FileMeta: `{"schema":1,"comm`, FileSamples: "t_ms,step\n1,1\n2,2",
			FileEvents: `{"kind":"step"}` + "\n" + `{"ki`}, 1, []string{"samples.csv:3: last line is cut",
			"run.json: read as far", "events.jsonl:2: last line is cut"}, nil},
		"temporary files": {map[string]string{FileMeta: `{"schema":1}`, FileSamples: "t_ms,step\n1,1\n",
			FileSamples + tmpSuffix: "t_ms,st", FileMeta + tmpSuffix: "{"}, 1, nil, nil},
		"newer schema": {map[string]string{FileMeta: `{"schema":7}`, FileSamples: "t_ms,step\n"}, 0,
			[]string{"schema 7 is newer"}, nil},
		"samples of no kind": {map[string]string{FileMeta: `{"schema":1}`, FileSamples: "hello\nworld\n"}, 0,
			[]string{"not a samples CSV"}, nil},
		"run.json of no kind": {map[string]string{FileMeta: `[1,2]`, FileSamples: "t_ms,step\n1,1\n"}, 1,
			[]string{"run.json"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			run, err := Open(dir)
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v", err)
			}
			if err != nil {
				return
			}
			if run.Samples.Len() != c.rows || len(run.Warnings) != len(c.warns) {
				t.Fatalf("%d rows, warnings\n%s", run.Samples.Len(), warned(run.Warnings))
			}
			for i, w := range c.warns {
				if !strings.Contains(run.Warnings[i].String(), w) {
					t.Errorf("warning %q, want %q", run.Warnings[i], w)
				}
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

func TestReadEventsSkipsWhatIsNone(t *testing.T) {
	t.Parallel()
	in := "{\"kind\":\"step\",\"step\":1}\nnot json\n{}\n\n" + strings.Repeat("x", 2<<20) +
		"\n{\"kind\":\"phase\",\"t_ms\":2,\"new\":{}}\r\n{\"kind\":\"last without an end\"}"
	events, warns, err := ReadEvents(strings.NewReader(in), "e")
	if err != nil || len(events) != 3 || events[1].TMs != 2 || len(warns) != 3 || warns[0].Line != 2 ||
		warns[1].Line != 3 || warns[2].Line != 5 {
		t.Errorf("%+v\n%s\n%v", events, warned(warns), err)
	}
}

func TestFolderNameHoldsWhatAFileNameMay(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 19, 5, 6, 0, time.FixedZone("x", 3600))
	for in, want := range map[string]string{
		"nqueens": "gpumem-nqueens-20261120T180506Z", "/usr/bin/python3.12": "gpumem-python3.12-20261120T180506Z",
		"../..": "gpumem-run-20261120T180506Z", "a b\n<c>": "gpumem-abc-20261120T180506Z",
		"": "gpumem-run-20261120T180506Z",
	} {
		if got := FolderName(in, at); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// FuzzReadEvents holds that no input panics and that events are written and
// read back as they are.
func FuzzReadEvents(f *testing.F) {
	for _, seed := range []string{
		`{"t_ms":1.5,"kind":"phase","name":"x"}` + "\n", `{"kind":"receipt","receipt":{"action":"purge","claimed_bytes":1}}`,
		"{}\n[]\nnull\n", `{"kind":"sites","sites":[{"site":"a","bytes":1,"count":2}],"detail":{"a":[1,2]}}` + "\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		events, _, err := ReadEvents(bytes.NewReader(in), "f")
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, e := range events {
			line, err := encodeEvent(e)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(line)
		}
		again, warns, err := ReadEvents(&b, "f")
		if err != nil || len(warns) != 0 || len(again) != len(events) {
			t.Fatalf("%d events became %d: %v %v", len(events), len(again), warns, err)
		}
	})
}
