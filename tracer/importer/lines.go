package importer

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/gpumem/gpumem/tracer/record"
)

// maxLine is how much of a line is looked at; the rest is skipped. The lines
// of every format read here are shorter by far.
const maxLine = 16 << 10

// lines reads a text by lines in bounded memory and collects its warnings.
type lines struct {
	in      *bufio.Reader
	file    string
	n       int  // of the current line, from 1
	cut     bool // the current line is longer than maxLine
	partial bool // the current line has no newline: the file ends in it
	err     error
	buf     []byte
	warned  int
	run     *record.Run
	rows    *table // set by keeps
}

// maxCells bounds the rows of a log, at 8 bytes a cell: a log that is packed a
// thousand times must not fill the memory.
const maxCells = 1 << 27

var errFull = errors.New("the log has more rows than can be kept; import a part of it")

// keeps says where the rows go, so that reading stops when there are too many.
func (l *lines) keeps(rows *table) { l.rows = rows }

func newLines(in *bufio.Reader, run *record.Run) *lines {
	return &lines{in: in, file: run.Path, run: run}
}

// next returns the next line without its end, valid until the following call;
// false at the end or at an error, which err keeps.
func (l *lines) next() ([]byte, bool) {
	l.buf, l.cut = l.buf[:0], false
	if l.rows != nil && l.rows.len()*len(l.rows.names) >= maxCells {
		l.err = errFull
		return nil, false
	}
	for {
		part, err := l.in.ReadSlice('\n')
		room := maxLine - len(l.buf)
		if len(part) > room {
			part, l.cut = part[:room], true
		}
		l.buf = append(l.buf, part...)
		if err == nil {
			l.n++
			return trimEnd(l.buf), true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !errors.Is(err, io.EOF) {
			l.err = err
			return nil, false
		}
		if len(l.buf) == 0 {
			return nil, false
		}
		l.n++
		l.partial = true
		return trimEnd(l.buf), true
	}
}

func trimEnd(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// warn notes something wrong with the current line.
func (l *lines) warn(column, format string, args ...any) {
	l.warned++
	if l.warned <= maxWarnings {
		l.run.Warnings = append(l.run.Warnings,
			record.Warning{File: l.file, Line: l.n, Column: column, Text: fmt.Sprintf(format, args...)})
	}
}

// finish says how many warnings were left out.
func (l *lines) finish() {
	if more := l.warned - maxWarnings; more > 0 {
		l.run.Warnings = append(l.run.Warnings, record.Warning{File: l.file, Text: fmt.Sprintf("%d more warnings", more)})
	}
}

// note is a warning about the file as a whole: what had to be assumed.
func note(run *record.Run, format string, args ...any) {
	run.Warnings = append(run.Warnings, record.Warning{File: run.Path, Text: fmt.Sprintf(format, args...)})
}

// short bounds a piece of a file that is quoted in a warning.
func short(b []byte) string {
	const limit = 60
	if len(b) > limit {
		return string(b[:limit]) + "…"
	}
	return string(b)
}
