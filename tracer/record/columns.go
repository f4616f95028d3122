package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// columns are the columns of the file being written and the row being placed
// into them. Column 0 is the time, which has no cell.
type columns struct {
	names  []string
	index  map[string]int
	values []int64
	filled []uint64 // turn in which the value was set
	turn   uint64
	hint   []int // column of the i-th cell of the row before

	fresh   []string // columns to be added
	retryAt int64    // row before which a failed addition is not tried again
	wait    int64
}

// place puts cells into their columns and adds columns as needed.
func (w *Writer) place(cells []Cell) error {
	c := &w.cols
	if c.names == nil {
		c.add(ColTime)
	}
	c.fresh = c.fresh[:0]
	lost := int64(0)
	for _, cell := range cells {
		if _, ok := c.index[cell.Column]; !ok && !c.want(cell.Column) {
			lost++
		}
	}
	var err error
	if len(c.fresh) > 0 {
		if err = w.addColumns(); err != nil {
			lost += int64(len(c.fresh))
		}
	}
	if lost > 0 {
		w.stats.LostCells += lost
		err = errors.Join(fmt.Errorf("%w: %d cells", ErrColumn, lost), err)
	}
	c.turn++
	for i, cell := range cells {
		if k, ok := c.find(i, cell.Column); ok && k > 0 {
			c.values[k], c.filled[k] = cell.Value, c.turn
		}
	}
	return err
}

// find is the column of the i-th cell. Rows mostly have the same cells in the
// same order, so the row before usually knows.
func (c *columns) find(i int, name string) (int, bool) {
	if i < len(c.hint) && c.names[c.hint[i]] == name {
		return c.hint[i], true
	}
	k, ok := c.index[name]
	if !ok {
		return 0, false
	}
	for len(c.hint) <= i {
		c.hint = append(c.hint, k)
	}
	c.hint[i] = k
	return k, true
}

// want notes a column to be added and reports whether it may be.
func (c *columns) want(name string) bool {
	if name == "" || len(name) > 128 || strings.ContainsFunc(name, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == 0xfffd
	}) {
		return false
	}
	for _, f := range c.fresh {
		if f == name {
			return true
		}
	}
	if len(c.names)+len(c.fresh) >= maxWrittenColumns {
		return false
	}
	c.fresh = append(c.fresh, strings.Clone(name)) // the row's owner may reuse its bytes
	return true
}

func (c *columns) add(name string) {
	c.index[name] = len(c.names)
	c.names = append(c.names, name)
	c.values = append(c.values, 0)
	c.filled = append(c.filled, 0)
}

// header is the first line of the file.
func (c *columns) header() []byte {
	var b []byte
	for i, name := range c.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendName(b, name)
	}
	return append(b, '\n')
}

// addColumns adds the fresh columns, to the file as well if it has rows. When
// the disk does not take the new file the old one goes on without them; the
// next tries come at growing distances, because each costs a copy.
func (w *Writer) addColumns() error {
	c := &w.cols
	if !w.headed {
		for _, name := range c.fresh {
			c.add(name)
		}
		return nil
	}
	now := w.stats.Rows + w.stats.LostRows
	if now < c.retryAt {
		return errors.New("waiting for space")
	}
	old := len(c.names)
	for _, name := range c.fresh {
		c.add(name)
	}
	err := w.rewrite(len(c.fresh))
	if err != nil {
		for _, name := range c.fresh {
			delete(c.index, name)
		}
		c.names, c.values, c.filled = c.names[:old], c.values[:old], c.filled[:old]
		c.wait = min(max(2*c.wait, 1), 1024)
		c.retryAt = now + c.wait
		return err
	}
	c.wait, c.retryAt = 0, 0
	return nil
}

// rewrite writes samples.csv anew, with n more cells in each row, and puts it
// in the place of the old file.
func (w *Writer) rewrite(n int) error {
	if err := w.rows.close(); err != nil {
		return err
	}
	tmp := w.rows.path + tmpSuffix
	if err := w.copyWider(tmp, n); err != nil {
		os.Remove(tmp)
		return err
	}
	if err := os.Rename(tmp, w.rows.path); err != nil {
		return err
	}
	w.rows.torn = false
	w.keep.rows.version++
	return nil
}

// copyWider copies samples.csv to path with the present header and n empty
// cells at the end of each row. A torn line at the end is left behind.
func (w *Writer) copyWider(path string, n int) (err error) {
	in, err := os.Open(w.rows.path)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	b := bufio.NewWriterSize(out, 64<<10)
	b.Write(w.cols.header())
	cells := append(bytes.Repeat([]byte{','}, n), '\n')
	r := bufio.NewReaderSize(in, maxLine)
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return b.Flush()
		}
		if err != nil {
			return err
		}
		if first {
			continue
		}
		b.Write(line[:len(line)-1])
		b.Write(cells)
	}
}
