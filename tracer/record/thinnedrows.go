package record

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// write writes what is to stay, under a header. Each row gets a cell more when
// ColThinned is new.
func (t *thinner) write(out io.Writer, header []byte) error {
	b := bufio.NewWriterSize(out, readSize)
	b.Write(header)
	w := thinnedRows{out: b, roles: &t.roles}
	sample, peakMark := strconv.AppendInt(nil, int64(t.level), 10), strconv.AppendInt(nil, Extreme, 10)
	t.dropped = 0
	lasts, extremes := &offsets{list: t.lasts}, &offsets{list: t.extremes}
	err := t.rows(func(at int64, line []byte, row *keptRow, s *keptProcess, level int) {
		last, extreme := lasts.has(at), extremes.has(at)
		regular := level > t.level && t.scarcityOf(s, row.micros) >= t.scarcity || t.stays(row)
		switch {
		case (last || regular) && !row.extreme:
			w.row(line, sample)
		case last || extreme:
			w.row(line, peakMark)
		default:
			t.dropped++
		}
	}, func(line []byte, _ *keptRow) { w.row(line, nil) })
	return errors.Join(err, b.Flush())
}

// offsets are ascending ones, which are asked for in that order.
type offsets struct {
	list []int64
}

func (o *offsets) has(at int64) bool {
	for len(o.list) > 0 && o.list[0] < at {
		o.list = o.list[1:]
	}
	return len(o.list) > 0 && o.list[0] == at
}

// thinnedRows writes rows that stay.
type thinnedRows struct {
	out   *bufio.Writer
	roles *keepRoles
}

// row writes a line of the file, with its cell of ColThinned. Errors are those of
// the writer's Flush.
func (w *thinnedRows) row(line, mark []byte) {
	line = bytes.TrimRight(line, "\r\n")
	if w.roles.thinned < 0 {
		w.out.Write(line)
		w.out.WriteByte(',')
		w.out.Write(mark)
		w.out.WriteByte('\n')
		return
	}
	for column := 0; ; column++ {
		end := bytes.IndexByte(line, ',')
		cell := line
		if end >= 0 {
			cell = line[:end]
		}
		if column == w.roles.thinned {
			w.out.Write(mark)
		} else {
			w.out.Write(cell)
		}
		if end < 0 {
			break
		}
		w.out.WriteByte(',')
		line = line[end+1:]
	}
	w.out.WriteByte('\n')
}

// copy writes the rows from an offset on as they are.
func (t *thinner) copy(out io.Writer, from int64) error {
	b := bufio.NewWriterSize(out, readSize)
	w := thinnedRows{out: b, roles: &t.roles}
	err := t.lines(from, func(_ int64, line []byte) {
		if t.header == 0 {
			b.Write(line)
		} else {
			w.row(line, nil)
		}
	})
	return errors.Join(err, b.Flush())
}
