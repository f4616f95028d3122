package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// appendFile is what lineFile needs of a file opened for appending.
type appendFile interface {
	io.WriteCloser
	Truncate(size int64) error
}

// openAppend opens or creates a file for appending.
func openAppend(path string) (appendFile, int64, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// lineFile appends whole lines. Each line is one write(2), so that a reader,
// or a kill, never sees half a line of a healthy file. When a write fails half
// way the file is cut back to its last whole line; when that fails, too, the
// next line begins by spoiling and ending the torn one, so that no cut number
// passes for a whole one.
//
// A file that was closed after a failure is opened anew for the next line. What was
// written before and is missing then is counted in gone.
type lineFile struct {
	path string
	head func() []byte // begins a file; nil where none is needed
	open func(path string) (appendFile, int64, error)
	file appendFile // nil until opened, and after a failed reopening
	good int64      // bytes up to the end of the last whole line
	torn bool
	gone int64 // bytes of whole lines that were missing when the file was opened anew
	fix  []byte
}

// spoil ends a torn line: no number ends in a question mark, no JSON either.
const spoil = "?\n"

// write appends line, which ends in '\n'. After an error the line counts as
// not written and the next write tries afresh.
func (l *lineFile) write(line []byte) error {
	if l.file == nil {
		f, size, err := l.open(l.path)
		if err != nil {
			return err
		}
		l.file = f
		l.reopened(size)
	}
	if l.torn {
		l.repair()
	}
	out := line
	if l.torn {
		l.fix = append(append(l.fix[:0], spoil...), line...)
		out = l.fix
	} else if l.good == 0 && l.head != nil {
		l.fix = append(append(l.fix[:0], l.head()...), line...)
		out = l.fix
	}
	n, err := l.file.Write(out)
	if err != nil {
		if n > 0 {
			l.torn = true
		}
		l.repair()
		return err
	}
	l.good += int64(len(out))
	if l.torn {
		// How long the torn part was is unknown; opening anew finds the length.
		l.torn = false
		return l.close()
	}
	return nil
}

// reopened takes in the size of a file that was just opened.
func (l *lineFile) reopened(size int64) {
	switch {
	case size < l.good:
		whole := wholeLines(l.path, size)
		l.gone += l.good - whole
		l.good, l.torn = whole, whole < size
	case !l.torn:
		l.good = size
	}
}

// wholeLines is the size of a file up to the end of its last whole line; 0 where it
// cannot be read, or has none near its end.
func wholeLines(path string, size int64) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	end := make([]byte, min(size, maxLine))
	from := size - int64(len(end))
	n, err := f.ReadAt(end, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	return from + int64(bytes.LastIndexByte(end[:n], '\n')+1)
}

// ofSpace reports whether a write failed because there is no more room: the same file
// has some again when something was deleted.
func ofSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// missing is ErrGone once after lines were missing in a file that was opened anew.
func (l *lineFile) missing() error {
	if l.gone == 0 {
		return nil
	}
	gone := l.gone
	l.gone = 0
	return fmt.Errorf("%w: %d bytes of %s", ErrGone, gone, filepath.Base(l.path))
}

// repair cuts a torn line off.
func (l *lineFile) repair() {
	if l.torn && l.file.Truncate(l.good) == nil {
		l.torn = false
	}
}

// close closes the file, if it is open. The next write opens it again.
func (l *lineFile) close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	if err != nil {
		return fmt.Errorf("close %s: %w", l.path, err)
	}
	return nil
}

// remove closes the file and takes it away, so that the next write starts it.
func (l *lineFile) remove() {
	l.close()
	os.Remove(l.path)
	l.good, l.torn = 0, false
}
