package report

import (
	"io"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func writeHTML(w io.Writer, d *document, run *record.Run, v *verdict.Verdict) error {
	return nil
}
