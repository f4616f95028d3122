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

// maxSkipped bounds how far the end of a line is looked for: a file of zeros is
// one line without an end.
const maxSkipped = 64 << 20

var (
	errFull    = errors.New("the log has more rows than can be kept; import a part of it")
	errEndless = fmt.Errorf("a line has no end within %d MiB", maxSkipped>>20)
)

// keeps says where the rows go, so that reading stops when there are too many.
func (l *lines) keeps(rows *table) { l.rows = rows }

func newLines(in *bufio.Reader, run *record.Run) *lines {
	return &lines{in: in, file: run.Path, run: run}
}

// next returns the next line without its end, valid until the following call;
// false at the end or at an error, which err keeps.
func (l *lines) next() ([]byte, bool) {
	l.buf, l.cut = l.buf[:0], false
	if l.rows != nil && l.rows.full {
		l.err = errFull
		return nil, false
	}
	for read := 0; ; {
		part, err := l.in.ReadSlice('\n')
		if read += len(part); read > maxSkipped {
			l.err = errEndless
			return nil, false
		}
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
		l.run.Warnings = append(l.run.Warnings,
			record.Warning{File: l.file, Text: fmt.Sprintf("%d more warnings", more)})
	}
}

// stopped says that reading ended before the file did, and why.
func (l *lines) stopped() {
	if l.err != nil {
		note(l.run, "reading stopped after line %d, and the rest was left out: %v", l.n, l.err)
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
