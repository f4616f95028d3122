package metrics

import (
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// mostRows bounds the rows that are kept of a process.
const mostRows = 1024

// past is the rows of a process, thinned to mostRows: when they are so many,
// every second one goes, and from then on every second one is kept.
type past struct {
	names   []string // column 0 is the time
	values  [][]float64
	stride  int
	skipped int
}

func newPast() past {
	return past{names: []string{record.ColTime}, values: make([][]float64, 1), stride: 1}
}

func (p *past) add(tMs float64, cells []record.Cell) {
	if p.skipped++; p.skipped < p.stride {
		return
	}
	p.skipped = 0
	n := len(p.values[0])
	p.values[0] = append(p.values[0], tMs)
	for _, c := range cells {
		if i := p.column(c.Column, n); len(p.values[i]) == n {
			p.values[i] = append(p.values[i], float64(c.Value))
		}
	}
	for i := range p.values {
		if len(p.values[i]) == n {
			p.values[i] = append(p.values[i], record.Unknown())
		}
	}
	if n+1 == mostRows {
		p.halve()
	}
}

// column is the index of a named column, made with n unknown rows when new.
func (p *past) column(name string, n int) int {
	for i, c := range p.names {
		if c == name {
			return i
		}
	}
	v := make([]float64, n, n+1)
	for i := range v {
		v[i] = record.Unknown()
	}
	p.names, p.values = append(p.names, name), append(p.values, v)
	return len(p.names) - 1
}

func (p *past) halve() {
	for i, v := range p.values {
		k := 0
		for j := 0; j < len(v); j += 2 {
			v[k] = v[j]
			k++
		}
		p.values[i] = v[:k]
	}
	p.stride *= 2
}

// all is a copy of the rows.
func (p *past) all() *record.Samples {
	values := make([][]float64, len(p.values))
	for i, v := range p.values {
		values[i] = slices.Clone(v)
	}
	return record.NewSamples(slices.Clone(p.names), values)
}

// only is a copy of one column as live bytes: for the engine to say how it
// grows.
func (p *past) only(column string) *record.Samples {
	names, values := []string{record.ColTime}, [][]float64{slices.Clone(p.values[0])}
	if i := slices.Index(p.names, column); i > 0 {
		names, values = append(names, record.ColLive), append(values, slices.Clone(p.values[i]))
	}
	return record.NewSamples(names, values)
}
