package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrInUse is returned by Resume for a folder that another recorder is writing.
var ErrInUse = errors.New("another gpumem is recording into it")

// Resume goes on with the run folder dir, whose recorder has gone: further rows and
// events are added to those that are there, and times count from Meta.Start as before.
// change may alter run.json before it is written, from which End, ExitCode and Signal
// are taken; an error of it is Resume's, and leaves the folder as it was. Only the
// Keep of o counts. The caller closes the Writer.
func Resume(dir string, change func(*Meta) error, o CreateOptions) (*Writer, error) {
	if err := CheckMembers(dir); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	m, err := ReadMeta(dir)
	if err != nil {
		return nil, fmt.Errorf("resume %s: %w", dir, err)
	}
	if err := change(&m); err != nil {
		return nil, err
	}
	lock, taken := lockFolder(dir)
	if taken {
		return nil, fmt.Errorf("resume %s: %w", dir, ErrInUse)
	}
	m.End, m.ExitCode, m.Signal = nil, nil, ""
	w := newWriter(dir, m, o)
	w.lock = lock
	if err := errors.Join(w.resumeRows(), w.resumeEvents(), w.writeMeta()); err != nil {
		w.unlock()
		return nil, fmt.Errorf("resume %s: %w", dir, err)
	}
	return w, nil
}

// resumeRows takes up samples.csv: its columns, and how it was thinned.
func (w *Writer) resumeRows() error {
	var roles keepRoles
	var header []byte
	usable := false
	err := w.takeUp(&w.rows, func(line []byte) {
		if header == nil {
			header = bytes.Clone(bytes.TrimRight(line, "\r\n"))
			roles, usable = rolesOf(header)
			return
		}
		var row keptRow
		if usable && row.read(line, &roles) {
			w.stats.Rows++
			w.keep.rows.last = max(w.keep.rows.last, row.micros)
			w.keep.rows.level = max(w.keep.rows.level, row.level)
		}
	})
	if err != nil || header == nil {
		return err
	}
	names, _ := headerCells(header)
	if !usable || roles.time != 0 || len(names) > maxWrittenColumns {
		return fmt.Errorf("%s: its columns are not those of a recording", FileSamples)
	}
	for _, name := range names {
		w.cols.add(name)
	}
	w.headed = true
	return nil
}

// resumeEvents takes up events.jsonl.
func (w *Writer) resumeEvents() error {
	return w.takeUp(&w.events, func(line []byte) {
		var row keptRow
		if !readKeptEvent(line, &row) {
			return
		}
		w.stats.Events++
		w.keep.events.last = max(w.keep.events.last, row.micros)
		_, _, kind, _ := quickEvent(line)
		w.keep.mark(&Event{TMs: float64(row.micros) / 1000, Kind: string(kind)})
	})
}

// takeUp reads the whole lines of a file, if it is there, and cuts off what a kill left
// of another. Files that were being written in its place are removed.
func (w *Writer) takeUp(file *lineFile, line func([]byte)) error {
	os.Remove(file.path + tmpSuffix)
	os.Remove(file.path + thinnedSuffix)
	f, err := os.OpenFile(file.path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r, whole := bufio.NewReaderSize(f, maxLine), int64(0)
	for {
		data, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return f.Truncate(whole)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file.path), err)
		}
		line(data)
		whole += int64(len(data))
	}
}

// unlock gives up the folder.
func (w *Writer) unlock() {
	if w.lock != nil {
		w.lock.Close()
		w.lock = nil
	}
}
