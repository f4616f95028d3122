package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gpumem/gpumem/report/verdict"
)

// writeJSON writes verdict.json: two blanks of indent, a newline at the end.
// Lists that must be there are [] when empty, never null.
func writeJSON(w io.Writer, v *verdict.Verdict) error {
	out := *v
	if out.Accounts == nil {
		out.Accounts = []verdict.AccountRow{}
	}
	out.Causes = append([]verdict.Cause(nil), v.Causes...)
	for i := range out.Causes {
		if out.Causes[i].Evidence == nil {
			out.Causes[i].Evidence = []string{}
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&out); err != nil {
		return fmt.Errorf("encode verdict: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
