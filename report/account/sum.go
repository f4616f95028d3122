package account

import (
	"strings"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// Column is a column of a recording, or the sum of its parts by device, "name@0",
// "name@1" and so on; a row is unknown when any part is. It is nil when the
// recording has neither, or no cell is known. It may be the recording's own slice.
func Column(s *record.Samples, name string) []float64 {
	out := s.Column(name)
	if out == nil {
		found := false
		for _, n := range s.Names() {
			if !strings.HasPrefix(n, name+"@") {
				continue
			}
			part := s.Column(n)
			if found {
				part = stat.Plus(out, part)
			}
			out, found = part, true
		}
	}
	return orNil(out)
}
