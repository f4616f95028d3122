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
	// maxPreamble bounds the blank lines before the header, in bytes.
	maxPreamble = 4 << 20
	// maxCells and maxRows bound what is kept of a file: 1 GiB. A month at 20 Hz
	// that fits a run folder has fewer.
	maxCells = 1 << 27
	maxRows  = 1 << 24
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
//     outweigh the file end the reading, with a warning; so do more than 2^24
//     rows or 2^27 cells, and a line of more than 64 MiB.
//   - Of more than 4096 columns the first are read, with a warning. A header of
//     more than 1 MiB is an error.
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
	header, columns := csvHeader(lines)
	if columns == 0 && lines.err == nil && lines.skipped.line == 0 && lines.consumed <= maxPreamble {
		warn.add(0, "", "the file is empty")
		return &Samples{}, warn.all(), nil
	}
	t, err := newCSVTable(header, columns, strict, warn)
	if err != nil {
		return &Samples{}, warn.all(), fmt.Errorf("read %s: %w", name, headerError(lines, columns, err))
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

// csvHeader returns the cells of the first line that is not blank, at most
// maxColumns of them, and how many there are; 0 when there is no such line.
func csvHeader(lines *lineReader) (names []string, columns int) {
	for lines.consumed <= maxPreamble || lines.skipped.line > 0 && lines.consumed <= 2*maxSkipped {
		line, _, more := lines.next()
		if !more {
			return nil, 0
		}
		if lines.line == 1 {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		return headerCells(line)
	}
	return nil, 0
}

// headerCells are the names in a header, at most maxColumns of them, and how many
// there are.
func headerCells(line []byte) (names []string, columns int) {
	for i := 0; i <= len(line) && len(names) < maxColumns; {
		end := cellEnd(line, i)
		names = append(names, string(unquote(line[i:end])))
		i = end + 1
	}
	return names, countCells(line)
}

// headerError says why there is no header. A first line that was too long is
// most likely the one.
func headerError(lines *lineReader, columns int, err error) error {
	switch long := lines.skipped; {
	case long.line > 0 && long.cells > maxColumns:
		return fmt.Errorf(
			"the header has %s columns in %d MiB; at most %s columns and %d MiB a line are read",
			grouped(long.cells), (long.bytes+1<<20-1)>>20, grouped(maxColumns), maxLine>>20)
	case lines.err != nil && !errors.Is(lines.err, errEndless):
		return lines.err
	case long.line > 0:
		return fmt.Errorf("%w: line %d is longer than %d MiB", ErrNotSamples, long.line, maxLine>>20)
	case columns == 0:
		return fmt.Errorf("%w: no header in the first %d MiB", ErrNotSamples, maxPreamble>>20)
	}
	return err
}

// grouped is n with a comma before every three digits.
func grouped(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
