package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotSamples is returned by ReadCSV for text whose first line is not a
// header with at least one column of samples.csv: no header, or another file.
var ErrNotSamples = errors.New("not a samples CSV")

const (
	// maxColumns bounds the columns of a file; a machine of 8 devices with all
	// columns per device has 216.
	maxColumns = 4096
	// freeCells is how many cells rows may fill before their number must be
	// justified by the bytes of the file: 32 MiB.
	freeCells = 4 << 20
	// maxJoin bounds how far a quoted cell with line ends in it is followed.
	maxJoin = 64 << 10
)

// ReadCSV reads samples from r; name stands in warnings and errors. It streams:
// beyond the samples themselves (8 bytes a cell) it holds one buffer.
//
//   - The first line that is not empty is the header. Without one of the
//     columns of samples.csv in it the error is ErrNotSamples; pid and step
//     alone, which other tables have too, do not count. Of columns with the same
//     name the first counts; columns without a name are left out.
//   - Blanks, RFC 4180 quotes, CRLF and a byte order mark are accepted.
//   - A cell that is empty or says nan, na, n/a, null, none or - is unknown. A
//     cell that is no finite decimal number is unknown with a warning; so is a
//     negative amount or one of 2^63 and more, except that -1 and 2^64-1 are
//     ways of saying unknown. Text in a column that is not ours is unknown,
//     with one warning for the column.
//   - A row that is too short or too long keeps the cells it has, with a
//     warning. A line without any value is left out, with a warning unless it
//     is blank. Lines over 1 MiB are skipped with a warning.
//   - A time that repeats or goes back, within one pid, is a warning; the row
//     is kept where it stands.
//   - A last line without line end is dropped with a warning when it is cut:
//     when it has fewer cells than the header, or its last number fewer digits
//     than the one above or none above to compare with.
//   - Rows so much shorter than the header that their unknown cells would
//     outweigh the file end the reading, with a warning.
//
// An empty file gives no rows, a warning and no error. After a read error the
// rows before it come back together with the error.
func ReadCSV(r io.Reader, name string) (*Samples, []Warning, error) {
	return readCSV(r, name, false)
}

// readCSV is ReadCSV; strict is for the samples.csv of a run folder: its writer
// ends every line, so that a last one without line end is dropped in any case,
// and what has no times there never had them.
func readCSV(r io.Reader, name string, strict bool) (*Samples, []Warning, error) {
	warn := &warnings{file: name}
	lines := newLineReader(r, func(line int) {
		warn.add(line, "", "line over %d bytes skipped", maxLine)
	})
	header, ok := csvHeader(lines)
	if !ok {
		if lines.err != nil {
			return &Samples{}, warn.all(), fmt.Errorf("read %s: %w", name, lines.err)
		}
		warn.add(0, "", "the file is empty")
		return &Samples{}, warn.all(), nil
	}
	t, err := newCSVTable(header, strict, warn)
	if err != nil {
		return &Samples{}, warn.all(), fmt.Errorf("read %s: %w", name, err)
	}
	t.size = sizeHint(r)
	t.read(lines)
	s := t.samples()
	if lines.err != nil {
		return s, warn.all(), fmt.Errorf("read %s: line %d: %w", name, lines.line, lines.err)
	}
	return s, warn.all(), nil
}

const byteOrderMark = "\xef\xbb\xbf"

// sizeHint is the number of bytes that r will give, or 0 when it cannot say.
// It only sizes the first allocation.
func sizeHint(r io.Reader) int64 {
	switch v := r.(type) {
	case interface{ Len() int }:
		return int64(v.Len())
	case interface{ Stat() (os.FileInfo, error) }:
		if info, err := v.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	}
	return 0
}

// csvHeader returns the cells of the first line that is not blank.
func csvHeader(lines *lineReader) ([]string, bool) {
	for {
		line, _, more := lines.next()
		if !more {
			return nil, false
		}
		if lines.line == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var names []string
		for i := 0; i <= len(line) && len(names) <= maxColumns; {
			end := cellEnd(line, i)
			names = append(names, string(unquote(line[i:end])))
			i = end + 1
		}
		return names, true
	}
}
