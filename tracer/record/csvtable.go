package record

import (
	"bytes"
	"fmt"
)

// csvTable is the samples while they are read.
type csvTable struct {
	warn   *warnings
	names  []string // of the kept columns
	kinds  []columnKind
	target []int // by cell of the line: index of the kept column, or -1
	cells  int   // of a whole line
	values [][]float64
	row    []float64
	rows   int
	room   int // rows that values have space for
	most   int // rows that are kept
	size   int64
	strict bool
	text   []bool // by kept column: text was warned about

	timeCol, pidCol int
	lastTime        lastTime // of rows without a pid
	lastByPID       map[float64]*lastTime
}

// lastTime is the time of the last row of one process.
type lastTime struct {
	ms   float64
	seen bool
}

// newCSVTable makes a table of a header, of which columns is the whole number.
func newCSVTable(header []string, columns int, strict bool, warn *warnings) (*csvTable, error) {
	t := &csvTable{warn: warn, cells: len(header), strict: strict, timeCol: -1, pidCol: -1,
		lastByPID: map[float64]*lastTime{}}
	seen := map[string]bool{}
	known := false
	for i, name := range header {
		t.target = append(t.target, -1)
		switch {
		case name == "":
			warn.add(1, "", "column %d has no name and is left out", i+1)
		case seen[name]:
			warn.add(1, name, "second column of this name is left out")
		default:
			seen[name] = true
			t.target[i] = len(t.names)
			t.names = append(t.names, name)
			t.kinds = append(t.kinds, kindOf(name))
			known = known || Known(name) && (strict || !commonName(name))
		}
	}
	if !known {
		return nil, fmt.Errorf("%w: %s", ErrNotSamples, headerFault(header))
	}
	if columns > maxColumns {
		warn.add(1, "", "the header has %s columns; the first %s are read", grouped(int64(columns)),
			grouped(maxColumns))
		t.cells = columns
	}
	for i, name := range t.names {
		switch name {
		case ColTime:
			t.timeCol = i
		case ColPID:
			t.pidCol = i
		}
	}
	if t.timeCol < 0 && !strict {
		warn.add(1, "", "no column %s: the rows have no times", ColTime)
	}
	t.most = min(maxRows, maxCells/max(len(t.names), 1))
	t.row = make([]float64, len(t.names))
	t.values = make([][]float64, len(t.names))
	t.text = make([]bool, len(t.names))
	return t, nil
}

// commonName reports a column by which no file is known as samples: tables of
// many other programs have it.
func commonName(column string) bool { return column == ColPID || column == ColStep }

// headerFault says what stands in place of a header.
func headerFault(header []string) string {
	for _, cell := range header {
		if _, state := slowCell([]byte(cell), kindCarried); state != cellValue {
			return "no known column in the first line"
		}
	}
	return "the first line holds numbers, no header"
}

// read takes all rows of lines.
func (t *csvTable) read(lines *lineReader) {
	for {
		line, ended, more := lines.next()
		if !more {
			return
		}
		if len(line) == 0 {
			continue
		}
		if !ended && t.cut(line) {
			t.warn.add(lines.line, "", "last line is cut short and left out")
			return
		}
		if t.rows == t.room && !t.grow(lines) {
			return
		}
		at := lines.line
		if bytes.IndexByte(line, '"') >= 0 {
			line = t.join(line, lines)
		}
		t.keep(line, t.parse(line, at), at)
	}
}

// parse fills t.row from a line and returns the number of its cells.
func (t *csvTable) parse(line []byte, at int) int {
	row := t.row
	for i := range row {
		row[i] = unknown
	}
	i, cell := 0, 0
	for {
		col := -1
		if cell < len(t.target) {
			col = t.target[cell]
		}
		v, next, ok := fastCell(line, i)
		switch {
		case ok && col >= 0:
			row[col] = v
		case ok:
		case i == len(line) || line[i] == ',':
			next = i // empty
		default:
			next = cellEnd(line, i)
			if col >= 0 {
				row[col] = t.slow(line[i:next], col, at)
			}
		}
		cell++
		if next >= len(line) {
			return cell
		}
		i = next + 1
	}
}

// slow parses a cell that is not a plain number.
func (t *csvTable) slow(cell []byte, col, at int) float64 {
	v, state := slowCell(cell, t.kinds[col])
	if state != cellBad {
		return v
	}
	if t.kinds[col] != kindCarried {
		t.warn.add(at, t.names[col], "%q is not an amount", clip(cell))
	} else if !t.text[col] {
		t.text[col] = true
		t.warn.add(at, t.names[col], "holds text (%q), which counts as unknown", clip(cell))
	}
	return v
}

// clip shortens a bad cell for its warning.
func clip(cell []byte) []byte {
	cell = bytes.TrimSpace(cell)
	return cell[:min(len(cell), 40)]
}

// keep adds the parsed row to the columns.
func (t *csvTable) keep(line []byte, cells, at int) {
	empty := true
	for _, v := range t.row {
		if v == v {
			empty = false
			break
		}
	}
	if empty {
		if len(bytes.TrimSpace(line)) > 0 {
			t.warn.add(at, "", "line without any value left out")
		}
		return
	}
	if cells != t.cells {
		t.warn.add(at, "", "row has %d cells, the header %d", cells, t.cells)
	}
	n := t.rows
	for c, v := range t.row {
		t.values[c][n] = v
	}
	t.rows++
	if t.timeCol >= 0 {
		t.checkTime(at)
	}
}

// checkTime warns when the row's time does not advance within its pid.
func (t *csvTable) checkTime(at int) {
	now := t.row[t.timeCol]
	if now != now {
		return
	}
	last := &t.lastTime
	if t.pidCol >= 0 && t.row[t.pidCol] == t.row[t.pidCol] {
		pid := t.row[t.pidCol]
		if last = t.lastByPID[pid]; last == nil {
			last = &lastTime{}
			t.lastByPID[pid] = last
		}
	}
	switch {
	case last.seen && now == last.ms:
		t.warn.add(at, ColTime, "time %g repeats", now)
	case last.seen && now < last.ms:
		t.warn.add(at, ColTime, "time goes back from %g to %g", last.ms, now)
	}
	*last = lastTime{ms: now, seen: true}
}

// cut reports whether a last line without line end lost its tail.
func (t *csvTable) cut(line []byte) bool {
	if t.strict {
		return true
	}
	cells, last := 0, 0
	for i := 0; i <= len(line); {
		last = i
		i = cellEnd(line, i) + 1
		cells++
	}
	if cells < t.cells {
		return true
	}
	col := t.target[len(t.target)-1]
	if cells > len(t.target) || col < 0 {
		return false
	}
	above := unknown
	if t.rows > 0 {
		above = t.values[col][t.rows-1]
	}
	v, state := slowCell(line[last:], t.kinds[col])
	if IsUnknown(above) {
		return state != cellUnknown || t.rows == 0
	}
	return state != cellValue || digits(v) < digits(above)
}

// digits is the length of v as an integer.
func digits(v float64) int {
	n := 1
	for v >= 10 || v <= -10 {
		v /= 10
		n++
	}
	return n
}

// grow makes room for more rows. It reports false when the file does not
// justify it.
func (t *csvTable) grow(lines *lineReader) bool {
	width := len(t.names)
	if cells := int64(width) * int64(t.rows); cells > freeCells && cells > 2*lines.consumed {
		t.warn.end(lines.line, "rows are far shorter than the header: reading ends here")
		return false
	}
	if t.rows >= t.most {
		t.warn.end(lines.line, "reading ends here: at most %s rows of %d columns are kept",
			grouped(int64(t.most)), width)
		return false
	}
	room := max(256, t.rows+t.rows/2)
	if t.size > 0 && t.rows > 0 {
		// The rows so far tell how many will come; 2 % for luck.
		est := float64(t.rows) * float64(t.size) / float64(lines.consumed) * 1.02
		fits := float64(freeCells+2*t.size) / float64(width)
		room = max(t.rows+t.rows/8+256, int(min(est, fits, maxRows)))
	}
	if t.rows == 0 {
		room = 256
	}
	room = min(room, t.most)
	for c, old := range t.values {
		grown := make([]float64, room)
		copy(grown, old[:t.rows])
		t.values[c] = grown
	}
	t.room = room
	return true
}

// join follows a quoted cell over line ends and returns the whole record, when
// the lines together have exactly the header's cells. Otherwise the quote was a
// stray one, each line stands for itself, and the line comes back alone.
func (t *csvTable) join(line []byte, lines *lineReader) []byte {
	alone := append([]byte(nil), line...) // the buffer moves below
	if bytes.Count(alone, []byte(`"`))%2 == 0 || countCells(alone) >= t.cells {
		return alone
	}
	rest := lines.peek(maxJoin)
	joined := append([]byte(nil), alone...)
	for n := 1; ; n++ {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return alone
		}
		joined = append(append(joined, '\n'), bytes.TrimSuffix(rest[:i], []byte("\r"))...)
		rest = rest[i+1:]
		if bytes.Count(joined, []byte(`"`))%2 != 0 {
			continue
		}
		if countCells(joined) != t.cells {
			return alone
		}
		for range n {
			lines.next()
		}
		return joined
	}
}

func countCells(line []byte) int {
	n := 0
	for i := 0; i <= len(line); n++ {
		i = cellEnd(line, i) + 1
	}
	return n
}

// samples are the rows read so far.
func (t *csvTable) samples() *Samples {
	for c := range t.values {
		t.values[c] = t.values[c][:t.rows:t.rows]
	}
	return &Samples{names: t.names, values: t.values}
}
