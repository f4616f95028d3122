package record

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gpumem/gpumem/internal/secret"
)

// Modes of a run folder and of its files: command lines and paths stand in them.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// Names of the files of a run folder.
const (
	FileMeta        = "run.json"
	FileSamples     = "samples.csv"
	FileEvents      = "events.jsonl"
	FileVerdict     = "verdict.json"
	FileReport      = "report.html"
	FileAllocations = "allocations.pb.gz"
	// FileStdout and FileStderr hold what the program wrote when it was not
	// left on the terminal.
	FileStdout = "stdout.log"
	FileStderr = "stderr.log"
)

// Errors of Create and of Writer that a caller may tell apart.
var (
	// ErrExists: the folder is there and Force is not set.
	ErrExists = errors.New("exists already")
	// ErrColumn: the row is written, but a cell was left out, because its
	// column's name is unfit or the file has as many columns as it may.
	ErrColumn = errors.New("column left out")
	// ErrGone: the row or event is written, but others that were written before are
	// not there: the file system went away and came back without them. It is said once.
	ErrGone = errors.New("what was not on the disk yet is lost")
	// ErrClosed: the writer was closed before.
	ErrClosed = errors.New("run folder is closed")
)

// maxWrittenColumns bounds the columns that a program's agent can make a
// tracer write.
const maxWrittenColumns = 512

// CreateOptions say how Create treats a folder that exists.
type CreateOptions struct {
	// Force replaces the run files of a folder that exists. Files that gpumem
	// does not write are never touched.
	Force bool
	// Keep bounds what the run's files take on disk, in bytes, by thinning the past
	// of samples.csv and events.jsonl; 0 keeps everything. Of less than LeastKeep
	// little of the past is left. stdout.log and stderr.log, which others write and bound, do not count.
	Keep int64
}

// Writer writes a run folder so that every moment of it can be read: each row
// and each event is one write(2) of one whole line, run.json is replaced by
// rename. It survives the death of its process at any point, not a crash of
// the machine: nothing is synced.
//
// What looks like a secret is masked before it is written (internal/secret),
// and Meta.Masked says so. The folder is for its owner alone, mode 0700, and so
// is each file in it, 0600; a stricter umask counts.
//
// An error of a method means that this row or event is lost (or, for ErrColumn,
// a cell of it; for ErrGone, earlier ones) and counted; the Writer stays usable and records again as soon
// as the disk takes data. All methods are safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	dir    string
	meta   Meta
	rows   lineFile
	events lineFile
	cols   columns
	line   []byte
	masked *secret.Tally
	headed bool // samples.csv has its header
	away   bool // the last write failed, and nothing of the folder is open
	closed bool
	stats  Stats
	keep   *keeper
	lock   *os.File // nil where there is none
}

// Stats count what a Writer wrote and lost.
type Stats struct {
	Rows, LostRows, Events, LostEvents int64
	// LostCells are cells left out of written rows (ErrColumn).
	LostCells int64
	// ThinnedRows and ThinnedEvents were written, and left out again later because
	// the files came near their bound.
	ThinnedRows, ThinnedEvents int64
}

// FolderName is the name of a run folder by default:
// gpumem-NAME-YYYYMMDDTHHMMSSZ, where NAME is the last element of name less
// whatever a file name should not hold.
func FolderName(name string, start time.Time) string {
	name = secret.Text(name)
	name = filepath.Base(filepath.ToSlash(name))
	clean := make([]byte, 0, len(name))
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
			clean = append(clean, c)
		}
	}
	clean = bytes.TrimLeft(clean[:min(len(clean), 64)], ".-")
	if len(clean) == 0 {
		clean = []byte("run")
	}
	return fmt.Sprintf("gpumem-%s-%s", clean, start.UTC().Format("20060102T150405Z"))
}

// Create makes the folder dir and writes run.json from m; Meta.Schema is set.
// Parents are made as needed. A folder that exists is refused with ErrExists
// unless o.Force is set, and then only the run's own files in it are replaced;
// when nothing else is in it, it becomes its owner's alone.
// The caller closes the Writer.
func Create(dir string, m Meta, o CreateOptions) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	err := os.Mkdir(dir, folderMode)
	if errors.Is(err, os.ErrExist) {
		if !o.Force {
			return nil, fmt.Errorf("create run folder %s: %w", dir, ErrExists)
		}
		err = removeOwn(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	w := newWriter(dir, m, o)
	w.lock, _ = lockFolder(dir) // who writes the folder regardless must not be kept from it
	if err := w.writeMeta(); err != nil {
		w.unlock()
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	return w, nil
}

func newWriter(dir string, m Meta, o CreateOptions) *Writer {
	w := &Writer{
		dir:    dir,
		meta:   m,
		rows:   lineFile{path: filepath.Join(dir, FileSamples), open: openAppend},
		events: lineFile{path: filepath.Join(dir, FileEvents), open: openAppend},
		cols:   columns{index: map[string]int{}},
		keep:   newKeeper(o.Keep),
	}
	w.rows.head = w.cols.header
	w.meta.Schema, w.meta.KeepBytes, w.masked = 1, w.keep.bound, m.tally()
	return w
}

// ownFiles are the names of all files that gpumem writes into a run folder.
func ownFiles() []string {
	return []string{
		FileMeta, FileSamples, FileEvents, FileVerdict, FileReport, FileAllocations, FileStdout, FileStderr,
	}
}

// Dir is the run folder.
func (w *Writer) Dir() string { return w.dir }

// Sample writes one row: t_ms from r.T, then the cells by their columns. A
// column seen for the first time is added to the file, which then is rewritten
// under another name and renamed; at steady state a row allocates nothing. Of
// two cells with the same column the later counts.
func (w *Writer) Sample(r Row) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	columnErr := w.place(r.Cells)
	w.line = appendMillis(w.line[:0], r.T)
	for i := 1; i < len(w.cols.names); i++ {
		w.line = append(w.line, ',')
		if w.cols.filled[i] == w.cols.turn {
			w.line = strconv.AppendInt(w.line, w.cols.values[i], 10)
		}
	}
	w.line = append(w.line, '\n')
	if err := w.rows.write(w.line); err != nil {
		w.stats.LostRows++
		w.letGo(err)
		if !w.headed || w.rows.good == 0 && w.rows.torn {
			// Half a header would spoil all that follows: begin anew.
			w.rows.remove()
		}
		return fmt.Errorf("write sample: %w", err)
	}
	w.headed = true
	w.takeHold()
	w.stats.Rows++
	w.keepRows(r.T)
	return errors.Join(columnErr, w.rows.missing())
}

// appendMillis appends t in milliseconds with three decimals.
func appendMillis(b []byte, t time.Duration) []byte {
	us := t.Microseconds()
	if us < 0 {
		b = append(b, '-')
		us = -us
	}
	b = strconv.AppendInt(b, us/1000, 10)
	frac := us % 1000
	return append(b, '.', byte('0'+frac/100), byte('0'+frac/10%10), byte('0'+frac%10))
}

// Event writes one event. One longer than 1 MiB is shortened to its largest
// sites or holders, which its Text then says, or refused when it has none.
func (w *Writer) Event(e Event) error {
	masked := &secret.Tally{}
	e.mask(masked)
	line, err := encodeEvent(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.masked.Add(masked.Values(), masked.Names())
	if err == nil {
		err = w.events.write(line)
	}
	if err != nil {
		w.stats.LostEvents++
		w.letGo(err)
		return fmt.Errorf("write event: %w", err)
	}
	w.takeHold()
	w.stats.Events++
	w.keepEvents(&e)
	return w.events.missing()
}

// letGo closes all that is open of the folder after a failure that is not of space. A
// file system that went read-only or away comes back as another mount: what is open
// belongs to the old one for good, and would keep people from unmounting it.
func (w *Writer) letGo(err error) {
	if ofSpace(err) {
		return
	}
	w.away = true
	w.rows.close() // an error of either says nothing new
	w.events.close()
	w.unlock()
}

// takeHold takes the folder's lock again once it is back.
func (w *Writer) takeHold() {
	if w.away {
		w.away = false
		w.lock, _ = lockFolder(w.dir)
	}
}

// encodeEvent makes the line of an event, line end included.
func encodeEvent(e Event) ([]byte, error) {
	text := e.Text
	sites, holders := len(e.Sites), len(e.Holders)
	for {
		line, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		if len(line) < maxLine {
			return append(line, '\n'), nil
		}
		if len(e.Sites)+len(e.Holders) < 2 {
			return nil, fmt.Errorf("event of %d bytes is too long", len(line))
		}
		e.Sites, e.Holders = largestHalf(e.Sites, siteBytes), largestHalf(e.Holders, holderBytes)
		left := sites + holders - len(e.Sites) - len(e.Holders)
		e.Text = fmt.Sprintf("%s (%d smaller ones left out)", text, left)
	}
}

func siteBytes(s Site) int64     { return s.Bytes }
func holderBytes(h Holder) int64 { return h.Bytes }

// largestHalf keeps the larger half of list, by bytes. It does not change list.
func largestHalf[T any](list []T, bytes func(T) int64) []T {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(bytes(b), bytes(a)) })
	return sorted[:(len(sorted)+1)/2]
}

// UpdateMeta changes run.json. The change is kept in memory also when the disk
// does not take it, and is written again with the next change or at Close.
// change must not call the Writer.
func (w *Writer) UpdateMeta(change func(*Meta)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	change(&w.meta)
	if err := w.writeMeta(); err != nil {
		return fmt.Errorf("write %s: %w", FileMeta, err)
	}
	return nil
}

// Meta is a copy of what stands in run.json; its maps are shared.
func (w *Writer) Meta() Meta {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.meta
}

// Stats are the counts so far.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// Close writes run.json a last time, with the counts of rows and losses in
// Meta.Sampling, and closes the files. A second Close does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	w.endThinning()
	defer w.unlock()
	s := Sampling{}
	if w.meta.Sampling != nil {
		s = *w.meta.Sampling
	}
	s.Rows, s.LostRows, s.LostEvents = w.stats.Rows, w.stats.LostRows, w.stats.LostEvents
	s.ThinnedRows, s.ThinnedEvents = w.stats.ThinnedRows, w.stats.ThinnedEvents
	w.meta.Sampling = &s
	if err := errors.Join(w.writeMeta(), w.rows.close(), w.events.close()); err != nil {
		return fmt.Errorf("close run folder: %w", err)
	}
	return nil
}

// WriteFile writes a further file of a run folder, such as the report: as a
// whole, or not at all, in place of one that is there, for its owner alone.
func WriteFile(dir, name string, write func(io.Writer) error) (err error) {
	path := filepath.Join(dir, name)
	temp, err := os.CreateTemp(dir, "."+name+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(temp.Name())
	buffer := bufio.NewWriter(temp)
	if err = write(buffer); err == nil {
		err = buffer.Flush()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(temp.Name(), path)
}

// tmpSuffix ends the names of files that are not yet in their place. One that
// a kill left behind is ignored by readers.
const tmpSuffix = ".tmp"

// writeMeta replaces run.json.
func (w *Writer) writeMeta() error {
	w.meta.mask(w.masked)
	w.meta.told(w.masked)
	data, err := json.MarshalIndent(&w.meta, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(w.dir, FileMeta)
	if err := os.WriteFile(path+tmpSuffix, append(data, '\n'), fileMode); err != nil {
		// A temporary file cut short would only take space that is short.
		os.Remove(path + tmpSuffix)
		return err
	}
	return os.Rename(path+tmpSuffix, path)
}
