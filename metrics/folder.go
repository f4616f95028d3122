package metrics

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

const (
	followEvery = 250 * time.Millisecond
	// chunkBytes is read of a file at a time.
	chunkBytes = 1 << 20
	// maxRest bounds what is kept of a line without an end.
	maxRest = 4 << 20
	// staleMs is how long a process may have no row before it counts as ended.
	staleMs = 10_000
)

// Folder follows a run folder that is being written, for a Book.
type Folder struct {
	book            *Book
	dir             string
	since           time.Time
	main            int // pid of rows without one
	begun           bool
	samples, events tail
}

// NewFolder follows the run in dir into a book. A run that began before since
// is one that is being replaced: its files are left alone.
func NewFolder(dir string, since time.Time, book *Book) *Folder {
	return &Folder{
		book: book, dir: dir, since: since,
		samples: tail{dir: dir, name: record.FileSamples, headed: true},
		events:  tail{dir: dir, name: record.FileEvents},
	}
}

// Run follows until ctx is done. What is wrong with a file is left to those who
// read the finished folder.
func (f *Folder) Run(ctx context.Context) {
	defer f.samples.close()
	defer f.events.close()
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		f.read()
		select {
		case <-ctx.Done():
			f.read() // what came last
			return
		case <-ticker.C:
		}
	}
}

// read takes what was added.
func (f *Folder) read() {
	if !f.begun && !f.begin() {
		return
	}
	for f.samples.next(f.rows) {
	}
	for f.events.next(f.marks) {
	}
}

// begin waits for run.json, which says whose rows they are.
func (f *Folder) begin() bool {
	m, err := record.ReadMeta(f.dir)
	if err != nil || m.PID == 0 || m.Start.Before(f.since) {
		return false
	}
	f.main, f.begun = m.PID, true
	f.book.SetMeta(m)
	if m.Workload != "" { // it runs in a child of ours
		f.book.Name(m.PID, m.Workload)
	}
	return true
}

// rows takes lines of samples.csv with their header.
func (f *Folder) rows(text []byte) {
	s, _, err := record.ReadCSV(bytes.NewReader(text), record.FileSamples)
	if err != nil {
		return
	}
	at, pids := s.Column(record.ColTime), s.Column(record.ColPID)
	last := 0.
	var cells []record.Cell
	for i := range s.Len() {
		if record.IsUnknown(at[i]) {
			continue
		}
		pid := f.main
		if pids != nil && !record.IsUnknown(pids[i]) {
			pid = int(pids[i])
		}
		cells = cells[:0]
		for _, name := range s.Names() {
			if v := s.Column(name)[i]; name != record.ColTime && name != record.ColPID && !record.IsUnknown(v) {
				cells = append(cells, record.Cell{Column: name, Value: int64(v)})
			}
		}
		f.book.Row(pid, at[i], cells)
		last = max(last, at[i])
	}
	f.book.Keep(func(pid int, lastMs float64) bool { return pid == f.main || last-lastMs < staleMs })
}

// marks takes lines of events.jsonl.
func (f *Folder) marks(text []byte) {
	list, _, _ := record.ReadEvents(bytes.NewReader(text), record.FileEvents) // the error is the reader's, which has none
	for _, e := range list {
		f.book.Event(e)
	}
}

// tail reads the lines that are added to a file. A recorder replaces
// samples.csv when a column comes up: then the lines that were taken are passed
// over.
type tail struct {
	dir    string
	name   string
	headed bool // the first line goes before each part
	file   *os.File
	header []byte
	rest   []byte // of a line that is not whole
	taken  int    // lines
	pass   int    // lines to be passed over
}

// next hands whole lines to take, and reports whether there may be more.
func (t *tail) next(take func([]byte)) bool {
	if !t.open() {
		return false
	}
	part := make([]byte, chunkBytes)
	n, err := t.file.Read(part)
	if err != nil && !errors.Is(err, io.EOF) || n == 0 {
		return false
	}
	text := append(t.rest, part[:n]...)
	end := bytes.LastIndexByte(text, '\n') + 1
	text, t.rest = text[:end], bytes.Clone(text[end:])
	if len(t.rest) > maxRest {
		t.rest = []byte{'?'} // begins neither a number nor JSON: the line will be left out
	}
	if t.headed && t.header == nil {
		first := bytes.IndexByte(text, '\n') + 1
		if first == 0 {
			return true
		}
		t.header, text = bytes.Clone(text[:first]), text[first:]
	}
	for ; t.pass > 0 && len(text) > 0; t.pass-- {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	if len(text) > 0 {
		t.taken += bytes.Count(text, []byte{'\n'})
		take(append(bytes.Clone(t.header), text...))
	}
	return true
}

// open opens the file when it is new, or another than before.
func (t *tail) open() bool {
	info, err := os.Stat(filepath.Join(t.dir, t.name))
	if err != nil {
		return false
	}
	if t.file != nil {
		if was, err := t.file.Stat(); err == nil && os.SameFile(was, info) {
			return true
		}
		t.close()
	}
	if t.file, err = record.OpenMember(t.dir, t.name); err != nil {
		t.file = nil
		return false
	}
	t.header, t.rest, t.pass = nil, nil, t.taken
	return true
}

func (t *tail) close() {
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
}
