package record

import "fmt"

// maxWarnings bounds the warnings listed for one file: a binary file renamed
// to .csv must not cost more memory than its rows.
const maxWarnings = 100

// warnings collects what is wrong in one file.
type warnings struct {
	file    string
	list    []Warning
	surplus int
	ends    []Warning // why reading ended early: listed in any case
}

// add lists a warning, or counts it when the list is full. Arguments are only
// formatted when the warning is listed.
func (w *warnings) add(line int, column, format string, args ...any) {
	if len(w.list) >= maxWarnings {
		w.surplus++
		return
	}
	w.list = append(w.list, Warning{File: w.file, Line: line, Column: column,
		Text: fmt.Sprintf(format, args...)})
}

// end lists why reading ended before the file did.
func (w *warnings) end(line int, format string, args ...any) {
	w.ends = append(w.ends, Warning{File: w.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// all are the warnings, then why reading ended early, closed by one that counts
// those not listed.
func (w *warnings) all() []Warning {
	all := append(w.list, w.ends...)
	if w.surplus == 0 {
		return all
	}
	return append(all, Warning{File: w.file, Text: fmt.Sprintf("%d more warnings not listed", w.surplus)})
}

// String is the warning as a line for people.
func (w Warning) String() string {
	s := w.File
	if w.Line > 0 {
		s += fmt.Sprintf(":%d", w.Line)
	}
	if w.Column != "" {
		s += ": " + w.Column
	}
	if s == "" {
		return w.Text
	}
	return s + ": " + w.Text
}
