package sample

import (
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// youngFor is how long a process is lively in any case: programs grow while they
	// start, and the judgement of a short one needs each row.
	youngFor = 15 * time.Second
	// calmAfter is how long nothing must have moved before a process is calm.
	calmAfter = 5 * time.Second
	// leastBytes and leastCount are what a figure must differ by to have moved, and
	// leastShare the part of it for large ones.
	leastBytes = 256 << 10
	leastCount = 16
	leastShare = 4096
	// breath is how wide the range of a figure may be that goes back and forth, in what
	// it must differ by: allocators give pages back and take them again.
	breath = 6
	// mostLevels bounds the columns that are looked at: a program names any number.
	mostLevels = 64
)

// Calm notices when nothing of a process moves any more. A figure moves when it leaves
// the narrow range in which it was before, so that a slow drift moves as well, each time
// that it has come so far, and a little back and forth does not. Running totals do not count: they rise as
// long as a program works. Times are those of Options.Now. It is for one goroutine.
type Calm struct {
	born, moved int64
	levels      []level
}

// level is the range of a figure.
type level struct {
	column    string
	low, high int64
	least     int64 // 0 for a column that does not count
}

// take reports whether a value is out of the range, which then has it.
func (l *level) take(value int64) bool {
	least := max(l.least, value/leastShare)
	if l.least == 0 || value > l.low-least && value < l.high+least {
		return false
	}
	l.low, l.high = min(l.low, value), max(l.high, value)
	if l.high-l.low > breath*least {
		l.low, l.high = value, value
	}
	return true
}

// NewCalm begins with a process that was just found, which is lively.
func NewCalm(now int64) Calm { return Calm{born: now, moved: now} }

// Take takes the figures of a row, or some of them, and reports whether any moved. It
// does not keep cells.
func (c *Calm) Take(now int64, cells []record.Cell) (moved bool) {
	for i, cell := range cells {
		l := c.level(i, cell.Column)
		switch {
		case l == nil && len(c.levels) == mostLevels:
			continue
		case l == nil:
			c.levels = append(c.levels, level{cell.Column, cell.Value, cell.Value, leastOf(cell.Column)})
			moved = true
			continue
		}
		moved = l.take(cell.Value) || moved
	}
	if moved {
		c.moved = now
	}
	return moved
}

// level is that of the i-th cell of a row. Rows mostly have the same cells in the same
// order.
func (c *Calm) level(i int, column string) *level {
	if i < len(c.levels) && c.levels[i].column == column {
		return &c.levels[i]
	}
	for k := range c.levels {
		if c.levels[k].column == column {
			return &c.levels[k]
		}
	}
	return nil
}

// leastOf is what a column must differ by, 0 for a running total and for the columns
// that say which row it is.
func leastOf(column string) int64 {
	switch column {
	case record.ColPID, record.ColStep, record.ColTime:
		return 0
	}
	known, ok := record.ColumnOf(column)
	switch {
	case ok && known.Kind == record.Total:
		return 0
	case ok && known.Unit == record.Bytes:
		return leastBytes
	}
	return leastCount
}

// Stir says that something happened in the process that is in no figure.
func (c *Calm) Stir(now int64) { c.moved = now }

// Is reports whether the process is calm.
func (c *Calm) Is(now int64) bool {
	return now-c.born >= int64(youngFor) && now-c.moved >= int64(calmAfter)
}
