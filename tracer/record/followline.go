package record

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
)

// lineFollower reads the whole lines of a file that another writes, as far as
// they are there. A file that is replaced by another copy of itself, wider, or with
// less of its past, is read to its end first and then taken up at the line after the
// last one read. When that line has gone, it is taken up at the first later one.
type lineFollower struct {
	dir   string
	name  string
	file  *os.File
	rest  []byte // of a line that is not whole
	buf   []byte
	lines int  // whole lines read
	long  bool // the line being read is over maxLine and is dropped

	headed bool // line 1 is a header
	// at is the time of a line, NaN of one without; nil for a file that is never replaced
	// by a copy of itself.
	at     func(line []byte) float64
	last   []byte  // the last line read, less the cells that a wider file adds
	latest float64 // the latest time of a line
	behind bool    // last has not been met yet in the file that took the other's place
}

func newLineFollower(dir, name string) *lineFollower {
	return &lineFollower{dir: dir, name: name, latest: math.Inf(-1)}
}

// read gives each whole line to take, at most one chunk of them, and reports
// whether there may be more at once. first is set for line 1 of each file. A
// file that is not there yet has no lines.
func (f *lineFollower) read(take func(line []byte, first bool)) (more bool, err error) {
	if f.file == nil {
		file, err := OpenMember(f.dir, f.name)
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		f.file, f.rest, f.long = file, f.rest[:0], false
		f.lines = 0
	}
	if f.buf == nil {
		f.buf = make([]byte, readSize)
	}
	n, err := f.file.Read(f.buf)
	if n > 0 {
		f.parts(f.buf[:n], take)
	}
	switch {
	case err == nil:
		return n > 0, nil // its end is where a file that took its place is looked for
	case errors.Is(err, io.EOF):
		return f.replaced(), nil
	}
	return false, err
}

// parts cuts data into lines.
func (f *lineFollower) parts(data []byte, take func(line []byte, first bool)) {
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			f.rest = append(f.rest, data...)
			if len(f.rest) > maxLine {
				f.rest, f.long = f.rest[:0], true
			}
			return
		}
		line := data[:i]
		if len(f.rest) > 0 {
			f.rest = append(f.rest, line...)
			line = f.rest
		}
		f.lines++
		if f.long {
			f.long = false
		} else {
			f.line(bytes.TrimSuffix(line, []byte{'\r'}), take)
		}
		f.rest, data = f.rest[:0], data[i+1:]
	}
}

// line hands out a line unless it was before.
func (f *lineFollower) line(line []byte, take func(line []byte, first bool)) {
	if f.headed && f.lines == 1 {
		take(line, true)
		return
	}
	if f.at != nil && f.passed(line) {
		return
	}
	take(line, f.lines == 1)
}

// passed reports whether a line was read in the file before.
func (f *lineFollower) passed(line []byte) bool {
	bare, at := bytes.TrimRight(line, ","), f.at(line)
	if f.behind {
		switch {
		case bytes.Equal(bare, f.last):
			f.behind = false
			return true
		case !(at > f.latest): // it is before the last one
			return true
		}
		f.behind = false
	}
	f.last = append(f.last[:0], bare...)
	if at > f.latest {
		f.latest = at
	}
	return false
}

// replaced reports whether another file has taken the place of the one that
// was read to its end, and turns to it.
func (f *lineFollower) replaced() bool {
	there, err := os.Stat(filepath.Join(f.dir, f.name))
	if err != nil {
		return false // between two names, or gone: what is open can be read on
	}
	open, err := f.file.Stat()
	if err == nil && os.SameFile(there, open) {
		return false
	}
	f.close()
	f.behind = f.last != nil
	return true
}

func (f *lineFollower) close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}
