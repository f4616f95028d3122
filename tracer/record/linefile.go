package record

import (
	"fmt"
	"io"
	"os"
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
type lineFile struct {
	path string
	open func(path string) (appendFile, int64, error)
	file appendFile // nil until opened, and after a failed reopening
	good int64      // bytes up to the end of the last whole line
	torn bool
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
		if !l.torn {
			l.good = size
		}
	}
	if l.torn {
		l.repair()
	}
	out := line
	if l.torn {
		l.fix = append(append(l.fix[:0], spoil...), line...)
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
