package tui

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"

	"github.com/gpumem/gpumem/tracer/record"
)

// sampleLines turns lines of samples.csv into rows.
type sampleLines struct {
	names []string // by column; empty for those that are no cell
	time  int
	pid   int
	cells []record.Cell
}

// header takes the first line.
func (s *sampleLines) header(line []byte) {
	names, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))).Read()
	if err != nil {
		names = nil
	}
	s.names, s.time, s.pid = names, -1, -1
	for i, n := range names {
		switch n {
		case record.ColTime:
			s.time, s.names[i] = i, ""
		case record.ColPID:
			s.pid, s.names[i] = i, ""
		}
	}
}

// row reads one line. The cells are valid until the next call. A line without
// a time is none; a cell that is no number is unknown.
func (s *sampleLines) row(line []byte) (pid int, tMs float64, cells []record.Cell, ok bool) {
	tMs = math.NaN()
	cells = s.cells[:0]
	for i := 0; i < len(s.names); i++ {
		cell, rest, more := bytes.Cut(line, []byte{','})
		line = rest
		if len(cell) > 0 {
			x, err := strconv.ParseFloat(string(cell), 64)
			switch {
			case err != nil || math.IsNaN(x) || math.Abs(x) > 1<<62:
			case i == s.time:
				tMs = x
			case i == s.pid:
				pid = int(x)
			case s.names[i] != "":
				cells = append(cells, record.Cell{Column: s.names[i], Value: int64(x)})
			}
		}
		if !more {
			break
		}
	}
	s.cells = cells
	return pid, tMs, cells, !math.IsNaN(tMs)
}
