package importer

import "github.com/gpumem/gpumem/tracer/record"

// bound is how many rows may be kept.
func (t *table) bound() int {
	if t.most > 0 {
		return t.most
	}
	return max(64, min(maxTableRows, maxTableCells/max(len(t.cols), 1)))
}

// thin puts rows together until a quarter of the room is free: first those that
// came last as the ones before them, then all in larger groups.
func (t *table) thin() {
	enough := t.bound() / 4 * 3
	for t.even(); t.len() > enough && !t.full; t.compact() {
		t.full = t.group > t.made
		t.group = max(4, 2*t.group)
	}
}

// even has the rows that came last lie as far apart as those before them.
func (t *table) even() {
	if t.group > 1 {
		t.compact()
	}
}

// extremes are the rows of one group that stay.
type extremes struct {
	group     int64
	low, high int
}

func (e *extremes) stay(keep []bool) {
	if e.group >= 0 {
		keep[e.low], keep[e.high] = true, true
	}
}

// compact leaves two rows of each group.
func (t *table) compact() {
	var apart, by []float64
	if i, ok := t.index[t.apart]; ok {
		apart = t.cols[i]
	}
	if i, ok := t.index[t.by]; ok {
		by = t.cols[i]
	}
	keep := make([]bool, t.len())
	last := map[float64]*extremes{}
	one := &extremes{group: -1}
	for k, order := range t.order {
		e := one
		if apart != nil && !record.IsUnknown(apart[k]) {
			if e = last[apart[k]]; e == nil {
				e = &extremes{group: -1}
				last[apart[k]] = e
			}
		}
		if g := order / t.group; g != e.group {
			e.stay(keep)
			*e = extremes{group: g, low: k, high: k}
		}
		if by == nil || record.IsUnknown(by[k]) {
			continue
		}
		if !(by[k] >= by[e.low]) {
			e.low = k
		}
		if !(by[k] < by[e.high]) {
			e.high = k
		}
	}
	one.stay(keep)
	for _, e := range last {
		e.stay(keep)
	}
	if n := len(keep); n > 0 {
		keep[0], keep[n-1] = true, true
	}
	t.only(keep)
}

// only leaves the rows that are to be kept.
func (t *table) only(keep []bool) {
	n := 0
	for k, stays := range keep {
		if !stays {
			continue
		}
		for _, col := range t.cols {
			col[n] = col[k]
		}
		t.order[n] = t.order[k]
		n++
	}
	for i := range t.cols {
		t.cols[i] = t.cols[i][:n]
	}
	t.order = t.order[:n]
}

// said notes that rows were put together.
func (t *table) said(run *record.Run) {
	if t.group > 1 {
		note(run, "of each %d of the %d rows the lowest and the highest are kept", t.group, t.made)
	}
}
