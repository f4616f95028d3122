package report

import (
	"io"
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// writeCSV writes the samples as samples.csv has them, the time first. A run
// without samples gives the header alone, or nothing.
func writeCSV(w io.Writer, run *record.Run) error {
	if run.Samples == nil {
		return nil
	}
	names := slices.Clone(run.Samples.Names())
	if i := slices.Index(names, record.ColTime); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, record.ColTime)
	}
	columns := make([][]float64, len(names))
	for i, name := range names {
		columns[i] = run.Samples.Column(name)
	}
	return record.WriteCSV(w, record.NewSamples(names, columns))
}
