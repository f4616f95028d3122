package record

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// WriteCSV writes s in the form of samples.csv: a header, one line a row,
// empty cells for what is unknown. What it writes ReadCSV reads back equal,
// except that infinite values, which no file holds, become unknown.
func WriteCSV(w io.Writer, s *Samples) error {
	b := bufio.NewWriterSize(w, 64<<10)
	for i, name := range s.names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(appendName(nil, name))
	}
	if len(s.names) > 0 {
		b.WriteByte('\n')
	}
	var line []byte
	for n := range s.Len() {
		line = line[:0]
		for c := range s.values {
			if c > 0 {
				line = append(line, ',')
			}
			line = appendValue(line, s.values[c][n])
		}
		b.Write(append(line, '\n')) // an error stays in b until Flush
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	return nil
}

// appendName appends a column's name, quoted when it has to be.
func appendName(b []byte, name string) []byte {
	if name != "" && !strings.ContainsAny(name, ",\"\r\n") && strings.TrimSpace(name) == name &&
		!strings.HasPrefix(name, byteOrderMark) {
		return append(b, name...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(name, `"`, `""`)...)
	return append(b, '"')
}

// appendValue appends a cell: fractions as short as they read back, nothing for
// unknown. An exponent stands only where plain digits would fill more than a
// cell may hold; no byte count and no time is that large or that small.
func appendValue(b []byte, v float64) []byte {
	switch {
	case IsUnknown(v) || math.IsInf(v, 0):
		return b
	case v == math.Trunc(v) && math.Abs(v) < 1<<63:
		return strconv.AppendInt(b, int64(v), 10)
	}
	if start := len(b); math.Abs(v) < 1<<63 {
		if b = strconv.AppendFloat(b, v, 'f', -1, 64); len(b)-start <= maxCell {
			return b
		}
		b = b[:start]
	}
	return strconv.AppendFloat(b, v, 'e', -1, 64)
}
