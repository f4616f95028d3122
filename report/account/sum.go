package account

import (
	"strings"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// Column is a column of a recording, or the sum of its parts by device, "name@0",
// "name@1" and so on, of which any is known; a row is unknown when one of these is.
// It is nil when no cell is known. It may be the recording's own slice.
func Column(s *record.Samples, name string) []float64 {
	return sum(s, name, func(v []float64) []float64 { return v })
}

// ColumnAt is Column for the given rows only: a device that none of them knows
// takes no part. The slice is the caller's.
func ColumnAt(s *record.Samples, name string, rows []int) []float64 {
	return sum(s, name, func(v []float64) []float64 {
		out := make([]float64, len(rows))
		for i, r := range rows {
			out[i] = v[r]
		}
		return out
	})
}

func sum(s *record.Samples, name string, pick func([]float64) []float64) []float64 {
	if v := s.Column(name); v != nil {
		return orNil(pick(v))
	}
	var out []float64
	for _, n := range s.Names() {
		if of, part := strings.CutPrefix(n, name); !part || !strings.HasPrefix(of, "@") {
			continue
		}
		part := orNil(pick(s.Column(n)))
		switch {
		case part == nil:
		case out == nil:
			out = part
		default:
			out = stat.Plus(out, part)
		}
	}
	return orNil(out)
}
