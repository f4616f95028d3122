package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"
)

const (
	// metaEvery is how often run.json of a run that goes on is read again.
	metaEvery = 500 * time.Millisecond
	// pidWithin is how soon after its start a recording knows its process, if it
	// has one.
	pidWithin = 2 * time.Second
)

// Taker takes what a Follower reads, on the goroutine that calls it. A function
// that is nil is not called.
type Taker struct {
	// Meta takes run.json, each time that it is read.
	Meta func(Meta)
	// Row takes a line of samples.csv. A row without a pid is of the traced program,
	// Meta.PID; 0 is a program whose pid nobody knows. The cells are valid until
	// Row returns.
	Row func(pid int, tMs float64, cells []Cell)
	// Event takes a line of events.jsonl, masked, with texts and lists cut as
	// ReadEvents cuts them.
	Event func(Event)
	// Output takes a line that the program wrote, valid until Output returns. Without
	// it stdout.log and stderr.log are left alone.
	Output func(stderr bool, line []byte)
	// Looked hears that a look at the files of Run is over, and what was wrong.
	Looked func(error)
}

// Follower reads the files of a run folder while they grow. Each line is handed
// out once, also when the recorder replaces a file by a copy of itself, as it does
// when a column comes up and when it thins the past. Lines that are no row or no event are left out
// without a word: who reads the finished folder says so. It is for one goroutine;
// what it keeps is bounded.
type Follower struct {
	dir   string
	since time.Time
	to    Taker

	main    int // pid of rows without one
	begun   bool
	ended   bool
	metaAt  time.Time
	samples *lineFollower
	table   *csvTable // of the present header, nil without a usable one
	cells   []Cell
	events  *lineFollower
	cut     *eventKeeper // cuts what is too long; it keeps no event
	output  []*lineFollower
}

// Follow follows the run that is written to dir, which need not be there yet. A
// run that began before since is one that is being replaced: it is left alone; the
// zero time takes any. The caller closes the Follower.
func Follow(dir string, since time.Time, to Taker) *Follower {
	f := &Follower{
		dir: dir, since: since, to: to, cut: newEventKeeper(),
		samples: newLineFollower(dir, FileSamples), events: newLineFollower(dir, FileEvents),
	}
	f.samples.headed, f.samples.at, f.events.at = true, f.rowTime, eventTime
	if to.Output != nil {
		f.output = []*lineFollower{newLineFollower(dir, FileStdout), newLineFollower(dir, FileStderr)}
	}
	return f
}

// Run looks at the files at each interval until ctx is done, or until all of a run
// that has ended is read.
func (f *Follower) Run(ctx context.Context, every time.Duration) (ended bool) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		more, err := f.Read()
		if f.to.Looked != nil {
			f.to.Looked(err)
		}
		if f.ended && !more { // run.json is the last that a recorder writes
			return true
		}
		if more && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		if ctx.Err() != nil { // both had come
			return false
		}
	}
}

// Read hands out what was added to the files, one chunk of each at most, and
// reports whether there may be more at once. It hands out no row before run.json
// says whose the rows are.
func (f *Follower) Read() (more bool, err error) {
	f.readMeta()
	if !f.begun {
		return false, nil
	}
	look := func(file *lineFollower, take func(line []byte, first bool)) {
		m, e := file.read(take)
		more, err = more || m, errors.Join(err, e)
	}
	look(f.samples, f.sample)
	look(f.events, f.event)
	for i, file := range f.output {
		look(file, func(line []byte, _ bool) { f.to.Output(i == 1, line) })
	}
	return more, err
}

// readMeta reads run.json when it is due.
func (f *Follower) readMeta() {
	now := time.Now()
	if f.begun && now.Sub(f.metaAt) < metaEvery {
		return
	}
	f.metaAt = now
	m, err := ReadMeta(f.dir)
	if err != nil || m.Start.Before(f.since) {
		return
	}
	f.main, f.ended = m.PID, m.End != nil
	f.begun = f.begun || m.PID != 0 || f.ended || now.Sub(m.Start) > pidWithin
	if f.to.Meta != nil {
		f.to.Meta(m)
	}
}

// sample takes a line of samples.csv.
func (f *Follower) sample(line []byte, first bool) {
	if first {
		f.table = tableOf(line)
		return
	}
	if f.table == nil || f.to.Row == nil {
		return
	}
	if pid, tMs, cells, ok := f.row(line); ok {
		f.to.Row(pid, tMs, cells)
	}
}

// rowTime is the time of a line of samples.csv, unknown of one that is no row.
func (f *Follower) rowTime(line []byte) float64 {
	if f.table == nil {
		return Unknown()
	}
	for range f.table.timeCol {
		end := cellEnd(line, 0)
		if end == len(line) {
			return Unknown()
		}
		line = line[end+1:]
	}
	at, err := strconv.ParseFloat(string(line[:cellEnd(line, 0)]), 64)
	if err != nil {
		return Unknown()
	}
	return at
}

// eventTime is the time of a line of events.jsonl, unknown of one that is no event.
func eventTime(line []byte) float64 {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"t_ms":`)); ok { // as our own writer has it
		number, _, _ := bytes.Cut(rest, []byte{','})
		if at, err := strconv.ParseFloat(string(number), 64); err == nil {
			return at
		}
	}
	var e struct {
		TMs *float64 `json:"t_ms"`
	}
	if json.Unmarshal(line, &e) != nil || e.TMs == nil {
		return Unknown()
	}
	return *e.TMs
}

// tableOf reads a header; nil is none of ours.
func tableOf(line []byte) *csvTable {
	names, columns := headerCells(bytes.TrimPrefix(line, []byte(byteOrderMark)))
	t, err := newCSVTable(names, columns, true, &warnings{file: FileSamples})
	if err != nil || t.timeCol < 0 {
		return nil
	}
	return t
}

// row reads a line by the rules of ReadCSV. A line without a time is no row.
func (f *Follower) row(line []byte) (pid int, tMs float64, cells []Cell, ok bool) {
	t := f.table
	t.parse(line, 0)
	tMs, pid, cells = t.row[t.timeCol], f.main, f.cells[:0]
	for i, v := range t.row {
		switch {
		case i == t.timeCol || IsUnknown(v) || math.Abs(v) >= 1<<63:
		case i == t.pidCol:
			pid = int(v)
		default:
			cells = append(cells, Cell{Column: t.names[i], Value: int64(v)})
		}
	}
	f.cells = cells
	return pid, tMs, cells, !IsUnknown(tMs)
}

// event takes a line of events.jsonl.
func (f *Follower) event(line []byte, _ bool) {
	var e Event
	if f.to.Event == nil || json.Unmarshal(line, &e) != nil || e.Kind == "" {
		return
	}
	f.cut.cut(&e)
	e.Mask()
	f.to.Event(e)
}

// Close closes the files. Closing it twice is no error.
func (f *Follower) Close() error {
	for _, file := range append([]*lineFollower{f.samples, f.events}, f.output...) {
		file.close()
	}
	return nil
}
