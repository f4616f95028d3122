package report

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// writeCSV writes the samples as samples.csv has them: time first, the other
// columns in file order, integers without a point, unknown empty, "\n" at the
// end of a line. A run without samples gives the header alone, or nothing.
func writeCSV(w io.Writer, run *record.Run) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if run.Samples == nil {
		return out.Flush()
	}
	var names []string
	var cols [][]float64
	add := func(name string) {
		names = append(names, csvField(name))
		cols = append(cols, run.Samples.Column(name))
	}
	if run.Samples.Column(record.ColTime) != nil {
		add(record.ColTime)
	}
	for _, name := range run.Samples.Names() {
		if name != record.ColTime {
			add(name)
		}
	}
	if len(names) > 0 {
		out.WriteString(strings.Join(names, ",") + "\n")
	}
	var buf []byte
	for i := range run.Samples.Len() {
		buf = buf[:0]
		for c := range cols {
			if c > 0 {
				buf = append(buf, ',')
			}
			buf = appendCell(buf, cols[c][i])
		}
		out.Write(append(buf, '\n'))
	}
	return out.Flush()
}

// appendCell appends v, an integer without exponent where it is one.
func appendCell(buf []byte, v float64) []byte {
	switch {
	case record.IsUnknown(v) || math.IsInf(v, 0):
		return buf
	case v == math.Trunc(v) && math.Abs(v) < 1<<63:
		return strconv.AppendInt(buf, int64(v), 10)
	}
	return strconv.AppendFloat(buf, v, 'f', -1, 64)
}

// csvField quotes a name that needs it (RFC 4180).
func csvField(s string) string {
	if !strings.ContainsAny(s, "\",\r\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
