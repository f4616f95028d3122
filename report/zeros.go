package report

import (
	"strings"

	"github.com/gpumem/gpumem/internal/units"
)

// splitZeros tells the rows to show from those that say zero and nothing else, and
// returns what these are about. A row of which nothing is known stays: unknown is not zero.
func (t *table) splitZeros() (kept []int, zeros []string) {
	for i, row := range t.rows {
		if t.zeros != "" && t.isZero(row) {
			zeros = append(zeros, row[0])
			continue
		}
		kept = append(kept, i)
	}
	return kept, zeros
}

// folded is the table as text and Markdown show it, and what they say of the rows that
// they leave out. Only a table in which one column decides leaves any out: it may have
// hundreds of rows that hold nothing.
func (t *table) folded() (shown *table, note string) {
	if t.decides == 0 {
		return t, ""
	}
	kept, zeros := t.splitZeros()
	some := *t
	some.rows = make([][]string, 0, len(kept))
	for _, i := range kept {
		some.rows = append(some.rows, t.rows[i])
	}
	return &some, t.zerosText(zeros)
}

// isZero reports a row with a number that is zero, and no other number. Where one
// column decides, it alone is looked at.
func (t *table) isZero(row []string) bool {
	if t.decides > 0 {
		return row[t.decides] == "0 B"
	}
	zeros := 0
	for i, text := range row {
		switch {
		case !t.head[i].right || text == units.Unknown || text == "":
		case isZeroText(text):
			zeros++
		default:
			return false
		}
	}
	return zeros > 0
}

// isZeroText reports 0 B, 0 %, 0, and a fitted growth of 0 whatever its interval.
func isZeroText(text string) bool {
	text, _, _ = strings.Cut(text, noBreak+"(")
	if text, _, _ = strings.Cut(text, " ("); text == "0" || text == "0 %" {
		return true
	}
	number, unit, ok := strings.Cut(strings.ReplaceAll(text, noBreak, " "), " ")
	return ok && strings.HasSuffix(unit, "B") && strings.Trim(number, "0.") == ""
}

// zerosText names the rows that a table leaves out.
func (t *table) zerosText(names []string) string {
	const most = 6
	switch {
	case len(names) == 0:
		return ""
	case t.decides > 0:
		return t.zeros + ": " + units.Count(int64(len(names))) + "."
	}
	text := t.zeros + ": " + strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + units.Count(int64(more)) + " more"
	}
	return text + "."
}
