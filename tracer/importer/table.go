package importer

import (
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// Bounds of what is kept of a log, which may be packed a thousand times: rows,
// and cells of 8 bytes.
const (
	maxTableRows  = 1 << 20
	maxTableCells = 1 << 24
)

// table grows a run's samples row by row, in bounded memory. Columns that never
// get a value are left out of the run, and so are those whose name begins with
// hidden.
//
// When the rows are too many, they are put together in groups that follow each
// other, and of each group the rows with the lowest and the highest value of
// the column by stay; so do the first row and the last one.
type table struct {
	names []string
	cols  [][]float64
	index map[string]int
	used  []bool

	by    string  // the column whose extremes stay
	apart string  // the column by which rows are told apart, as pid; empty is none
	group int64   // rows a group; 1 as long as each stays
	made  int64   // rows that were begun
	order []int64 // of each row that is kept: which of them it is, from 0
	most  int     // rows, 0 is what the bounds above allow
	full  bool    // groups do not help: each row stands apart
}

// hidden begins the names of columns that only the importer needs.
const hidden = "\x00"

func newTable(names ...string) *table {
	t := &table{names: names, cols: make([][]float64, len(names)), index: make(map[string]int, len(names)),
		used: make([]bool, len(names)), group: 1}
	for i, n := range names {
		t.index[n] = i
	}
	return t
}

// room makes room for n rows, so that no column is copied as it grows.
func (t *table) room(n int) {
	for i := range t.cols {
		t.cols[i] = slices.Grow(t.cols[i], n)
	}
}

// column adds a column that is unknown in all rows so far, unless it is there,
// and returns its index.
func (t *table) column(name string) int {
	if i, ok := t.index[name]; ok {
		return i
	}
	t.index[name] = len(t.names)
	col := make([]float64, t.len(), cap(t.cols[0]))
	for i := range col {
		col[i] = record.Unknown()
	}
	t.names, t.cols, t.used = append(t.names, name), append(t.cols, col), append(t.used, false)
	return len(t.names) - 1
}

// row begins a row in which everything is unknown.
func (t *table) row() {
	if t.len() >= t.bound() {
		t.thin()
	}
	t.order = append(t.order, t.made)
	t.made++
	for i := range t.cols {
		t.cols[i] = append(t.cols[i], record.Unknown())
	}
}

// set fills a cell of the last row.
func (t *table) set(name string, v float64) { t.put(t.index[name], v) }

// put fills a cell of the last row by the index of its column.
func (t *table) put(i int, v float64) {
	t.cols[i][len(t.cols[i])-1] = v
	t.used[i] = true
}

// at fills a cell of row k.
func (t *table) at(k int, name string, v float64) {
	i := t.index[name]
	t.cols[i][k] = v
	t.used[i] = true
}

func (t *table) len() int { return len(t.cols[0]) }

func (t *table) samples() *record.Samples {
	t.even()
	var names []string
	var cols [][]float64
	for i, n := range t.names {
		if t.used[i] && !strings.HasPrefix(n, hidden) {
			names, cols = append(names, n), append(cols, t.cols[i])
		}
	}
	return record.NewSamples(names, cols)
}
