package secret

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Bounds of Overwrite.
const (
	// logPart is read of a file at a time; logOverlap of it is read once more
	// with the next part, so that what lies across their border is found.
	logPart    = 1 << 20
	logOverlap = 16 << 10
	// longestLog is how much of a file is looked at: a second's work.
	longestLog = 64 << 20
)

// Line masks what has the shape of a secret in a line that a program printed:
// tokens of known services, private keys and passwords in URLs. Names do not
// count there: a program prints anything.
func Line(line string) string {
	sc := scanner{s: line, shapes: true}
	sc.scan()
	if len(sc.spans) == 0 {
		return line
	}
	return sc.masked(nil)
}

// Overwrite puts stars over what Line would mask in a file that programs wrote
// their output to. The file keeps its length, so that a process that still
// appends to it goes on undisturbed. It returns how many values were masked,
// and whether the file was too long to be looked at as a whole.
func Overwrite(path string) (values int, partly bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, false, fmt.Errorf("mask secrets: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := make([]byte, logPart)
	for at := int64(0); at < longestLog; at += logPart - logOverlap {
		n, err := f.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return values, partly, fmt.Errorf("mask secrets: %w", err)
		}
		until := n
		if n == len(buf) {
			until = n - logOverlap/2 // what begins later is seen whole with the next part
		}
		found, err := overwritePart(f, at, string(buf[:n]), until)
		values += found
		if err != nil {
			return values, partly, fmt.Errorf("mask secrets: %w", err)
		}
		if n < len(buf) {
			return values, false, nil
		}
	}
	return values, true, nil
}

// overwritePart masks what begins before until in text, which stands in f at an
// offset.
func overwritePart(f *os.File, at int64, text string, until int) (values int, err error) {
	sc := scanner{s: text, shapes: true}
	sc.scan()
	for _, s := range sc.spans {
		if s.from >= until {
			break
		}
		if _, err := f.WriteAt([]byte(strings.Repeat("*", s.to-s.from)), at+int64(s.from)); err != nil {
			return values, err
		}
		values++
	}
	return values, nil
}
