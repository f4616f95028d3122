package importer

import (
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// table grows a run's samples row by row. Columns that never get a value are
// left out of the run.
type table struct {
	names []string
	cols  [][]float64
	index map[string]int
	used  []bool
}

func newTable(names ...string) *table {
	t := &table{names: names, cols: make([][]float64, len(names)), index: make(map[string]int, len(names)), used: make([]bool, len(names))}
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

// column adds a column that is unknown in all rows so far.
func (t *table) column(name string) {
	if _, ok := t.index[name]; ok {
		return
	}
	t.index[name] = len(t.names)
	col := make([]float64, t.len(), cap(t.cols[0]))
	for i := range col {
		col[i] = record.Unknown()
	}
	t.names, t.cols, t.used = append(t.names, name), append(t.cols, col), append(t.used, false)
}

// row begins a row in which everything is unknown.
func (t *table) row() {
	for i := range t.cols {
		t.cols[i] = append(t.cols[i], record.Unknown())
	}
}

// set fills a cell of the last row.
func (t *table) set(name string, v float64) {
	i := t.index[name]
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
	var names []string
	var cols [][]float64
	for i, n := range t.names {
		if t.used[i] {
			names, cols = append(names, n), append(cols, t.cols[i])
		}
	}
	return record.NewSamples(names, cols)
}
