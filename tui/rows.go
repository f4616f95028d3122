package tui

import (
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// rowsKept are all columns of the rows of a process, thinned to a bounded
// number: what the verdict is reached from. When it is full, every second row
// goes, and from then on every second is kept.
type rowsKept struct {
	names   []string
	index   map[string]int
	hint    []int // column of the i-th cell of the row before
	values  [][]float64
	most    int
	stride  int
	skipped int
}

func newRowsKept(most int) rowsKept {
	return rowsKept{
		names: []string{record.ColTime}, index: map[string]int{record.ColTime: 0},
		values: make([][]float64, 1), most: max(most, 2), stride: 1,
	}
}

func (r *rowsKept) add(tMs float64, cells []record.Cell) {
	if r.skipped++; r.skipped < r.stride {
		return
	}
	r.skipped = 0
	n := len(r.values[0])
	r.values[0] = append(r.values[0], tMs)
	for i, c := range cells {
		k := r.column(i, c.Column, n)
		if len(r.values[k]) == n {
			r.values[k] = append(r.values[k], float64(c.Value))
		}
	}
	for k, v := range r.values {
		if len(v) == n {
			r.values[k] = append(v, record.Unknown())
		}
	}
	if n+1 >= r.most {
		r.halve()
	}
}

// column is the index of a named column, made with n unknown rows when new.
// Rows mostly have the same cells in the same order.
func (r *rowsKept) column(i int, name string, n int) int {
	if i < len(r.hint) && r.names[r.hint[i]] == name {
		return r.hint[i]
	}
	k, ok := r.index[name]
	if !ok {
		k = len(r.names)
		empty := make([]float64, n, n+1)
		for j := range empty {
			empty[j] = record.Unknown()
		}
		r.names, r.values, r.index[name] = append(r.names, name), append(r.values, empty), k
	}
	for len(r.hint) <= i {
		r.hint = append(r.hint, k)
	}
	r.hint[i] = k
	return k
}

func (r *rowsKept) halve() {
	for k, v := range r.values {
		n := 0
		for j := 0; j < len(v); j += 2 {
			v[n] = v[j]
			n++
		}
		r.values[k] = v[:n]
	}
	r.stride *= 2
}

// samples is a copy that the engine may keep.
func (r *rowsKept) samples() *record.Samples {
	out := make([][]float64, len(r.values))
	for i, v := range r.values {
		out[i] = slices.Clone(v)
	}
	return record.NewSamples(slices.Clone(r.names), out)
}
