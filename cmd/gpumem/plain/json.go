package plain

import (
	"encoding/json"
	"io"
	"time"

	"github.com/gpumem/gpumem/probe"
)

// WriteJSON writes a value in the form of all commands: indented, "<" and "&" as
// they are.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Known is nil for a number that is not known.
func Known(v int64) *int64 {
	if v == probe.Unknown {
		return nil
	}
	return &v
}

// Seconds is nil for a duration that is not known.
func Seconds(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	s := float64(d.Milliseconds()) / 1000
	return &s
}
