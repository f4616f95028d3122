package record

import (
	"bytes"
	"fmt"
	"io"
)

const (
	// maxLine bounds one line of any file of a run; it is the bound of the
	// agent protocol, too.
	maxLine = 1 << 20
	// readSize is one read(2) of a file.
	readSize = 256 << 10
	// maxSkipped bounds how far the end of a line that is too long is looked
	// for: a file of zeros is one line without an end.
	maxSkipped = 64 << 20
)

// errEndless ends the reading of what has no lines.
var errEndless = fmt.Errorf("a line has no end within %d MiB", maxSkipped>>20)

// lineReader cuts a stream into lines without copying: a line is a slice of
// the buffer, valid until the next call. Lines over maxLine are skipped and
// counted.
type lineReader struct {
	src      io.Reader
	buf      []byte
	pos, end int
	eof      bool
	err      error // a read error other than EOF
	line     int   // number of the line last returned
	consumed int64 // bytes up to the end of that line
	tooLong  func(line int)
	skipped  skippedLine // the first line that was too long
}

// skippedLine is what is known of a line that was too long to be kept.
type skippedLine struct {
	line         int // 0 when there was none
	bytes, cells int64
}

func newLineReader(src io.Reader, tooLong func(line int)) *lineReader {
	return &lineReader{src: src, buf: make([]byte, readSize), tooLong: tooLong}
}

// next returns the next line without its line end. ended is false for a last
// line that has no line end. more is false after the last line.
func (l *lineReader) next() (line []byte, ended, more bool) {
	for {
		if i := bytes.IndexByte(l.buf[l.pos:l.end], '\n'); i >= 0 {
			return l.take(i, 1), true, true
		}
		if l.eof {
			if l.pos == l.end {
				return nil, false, false
			}
			return l.take(l.end-l.pos, 0), false, true
		}
		if l.end-l.pos >= maxLine {
			l.skipLine()
			continue
		}
		l.fill()
	}
}

// take returns the n bytes at pos and steps over them and their line end.
func (l *lineReader) take(n, end int) []byte {
	line := l.buf[l.pos : l.pos+n]
	l.pos += n + end
	l.consumed += int64(n + end)
	l.line++
	if n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// fill moves what is left to the front and reads more.
func (l *lineReader) fill() {
	if l.pos > 0 {
		copy(l.buf, l.buf[l.pos:l.end])
		l.end -= l.pos
		l.pos = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, 2*len(l.buf))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	// An io.Reader may return nothing without an error; a few times is
	// patience, more is a broken reader.
	for range 100 {
		n, err := l.src.Read(l.buf[l.end:])
		l.end += max(n, 0)
		if err != nil {
			l.eof = true
			if err != io.EOF {
				l.err = err
			}
			return
		}
		if n > 0 {
			return
		}
	}
	l.eof, l.err = true, io.ErrNoProgress
}

// skipLine drops the rest of a line that is too long.
func (l *lineReader) skipLine() {
	l.line++
	l.tooLong(l.line)
	now := skippedLine{line: l.line, cells: 1}
	for l.drop(&now) {
		if l.eof {
			break
		}
		if now.bytes > maxSkipped {
			l.eof, l.err, l.end = true, errEndless, l.pos
			break
		}
		l.fill()
	}
	if l.skipped.line == 0 {
		l.skipped = now
	}
}

// drop takes off what is there of a line, end included, and reports whether
// more of it is to come.
func (l *lineReader) drop(now *skippedLine) (more bool) {
	part, end := l.buf[l.pos:l.end], 0
	if i := bytes.IndexByte(part, '\n'); i >= 0 {
		part, end = part[:i], 1
	}
	now.bytes += int64(len(part))
	now.cells += int64(bytes.Count(part, []byte{','}))
	l.pos += len(part) + end
	l.consumed += int64(len(part) + end)
	return end == 0
}

// peek is what follows the line last returned, n bytes when the source has
// them. It ends the life of that line.
func (l *lineReader) peek(n int) []byte {
	for l.end-l.pos < n && !l.eof {
		l.fill()
	}
	return l.buf[l.pos:min(l.end, l.pos+n)]
}
