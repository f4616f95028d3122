package record

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// lineFollower reads the whole lines of a file that another writes, as far as
// they are there. A file that is replaced by a longer copy of itself is read to
// its end first and then taken up at the line after the last one read.
type lineFollower struct {
	dir    string
	name   string
	file   *os.File
	rest   []byte // of a line that is not whole
	buf    []byte
	lines  int  // whole lines read
	behind int  // lines of a replaced file still to be passed over
	long   bool // the line being read is over maxLine and is dropped
}

func newLineFollower(dir, name string) *lineFollower { return &lineFollower{dir: dir, name: name} }

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
		f.behind, f.lines = max(f.behind, f.lines), 0
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
		return n == len(f.buf), nil
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
		} else if f.lines == 1 || f.lines > f.behind {
			take(bytes.TrimSuffix(line, []byte{'\r'}), f.lines == 1)
		}
		f.rest, data = f.rest[:0], data[i+1:]
	}
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
	return true
}

func (f *lineFollower) close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}
