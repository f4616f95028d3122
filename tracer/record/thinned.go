package record

import "slices"

// Thinned holds the rows of one process, thinned to a bounded number: when it
// is full every second row goes, and from then on every second one is kept. So
// what is left covers the whole time evenly, with up to half of the rows that
// it may have. It is for one goroutine.
type Thinned struct {
	names   []string // column 0 is the time
	index   map[string]int
	hint    []int // column of the i-th cell of the row before
	values  [][]float64
	most    int
	stride  int
	skipped int
}

// NewThinned makes a Thinned for fewer than most rows; less than 2 is taken
// as 2.
func NewThinned(most int) Thinned {
	return Thinned{
		names: []string{ColTime}, index: map[string]int{ColTime: 0},
		values: make([][]float64, 1), most: max(most, 2), stride: 1,
	}
}

// Add takes a row, tMs milliseconds on a clock that all rows share. It does not
// keep cells. Of two cells of one column the first counts.
func (t *Thinned) Add(tMs float64, cells []Cell) {
	if t.skipped++; t.skipped < t.stride {
		return
	}
	t.skipped = 0
	n := len(t.values[0])
	t.values[0] = append(t.values[0], tMs)
	for i, c := range cells {
		k := t.column(i, c.Column, n)
		if len(t.values[k]) == n {
			t.values[k] = append(t.values[k], float64(c.Value))
		}
	}
	for k, v := range t.values {
		if len(v) == n {
			t.values[k] = append(v, Unknown())
		}
	}
	if n+1 >= t.most {
		t.halve()
	}
}

// column is the index of a named column, made with n unknown rows when new.
// Rows mostly have the same cells in the same order.
func (t *Thinned) column(i int, name string, n int) int {
	if i < len(t.hint) && t.names[t.hint[i]] == name {
		return t.hint[i]
	}
	k, ok := t.index[name]
	if !ok {
		k = len(t.names)
		empty := make([]float64, n, n+1)
		for j := range empty {
			empty[j] = Unknown()
		}
		t.names, t.values, t.index[name] = append(t.names, name), append(t.values, empty), k
	}
	for len(t.hint) <= i {
		t.hint = append(t.hint, k)
	}
	t.hint[i] = k
	return k
}

func (t *Thinned) halve() {
	for k, v := range t.values {
		n := 0
		for j := 0; j < len(v); j += 2 {
			v[n] = v[j]
			n++
		}
		t.values[k] = v[:n]
	}
	t.stride *= 2
}

// Len is how many rows are held.
func (t *Thinned) Len() int { return len(t.values[0]) }

// Names are the columns, the time first. The caller must not change the slice.
func (t *Thinned) Names() []string { return t.names }

// Column is one value a row, nil for a column that no row had. It is valid
// until the next Add; the caller must not change it.
func (t *Thinned) Column(name string) []float64 {
	if k, ok := t.index[name]; ok {
		return t.values[k]
	}
	return nil
}

// Samples is a copy of the rows, the caller's own.
func (t *Thinned) Samples() *Samples {
	values := make([][]float64, len(t.values))
	for i, v := range t.values {
		values[i] = slices.Clone(v)
	}
	return NewSamples(slices.Clone(t.names), values)
}
