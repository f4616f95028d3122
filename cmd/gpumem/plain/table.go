package plain

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Width is how many columns of a terminal the text of a command takes at most.
const Width = 100

// Cells is how many columns of a terminal s takes: 2 for wide characters, 0
// for combining ones. The locale's opinion on ambiguous ones is not asked.
func Cells(s string) int {
	c := runewidth.Condition{}
	return c.StringWidth(s)
}

// Cut shortens s to width columns, with "…" for what is left out.
func Cut(s string, width int) string {
	if Cells(s) <= width {
		return s
	}
	c := runewidth.Condition{}
	return c.Truncate(s, width, "…")
}

// Shown makes a foreign string fit for a terminal: what would move its cursor,
// change its colours or the direction of its text is replaced.
func Shown(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl,
			unicode.Zp):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// Column is one of a table.
type Column struct {
	title string
	right bool
	most  int // 0 is no bound
}

// Left is a column of words.
func Left(title string) Column { return Column{title: title} }

// Right is a column of numbers.
func Right(title string) Column { return Column{title: title, right: true} }

// AtMost is the column with its cells cut to a width.
func (c Column) AtMost(width int) Column {
	c.most = width
	return c
}

// Table is rows of cells in aligned columns. The last column gets what the line
// has left.
type Table struct {
	columns []Column
	rows    [][]string
}

// NewTable is one without rows.
func NewTable(columns ...Column) *Table { return &Table{columns: columns} }

// Add adds a row, a cell for each column.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Empty reports whether it has no row.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Write writes the table into b, each line after indent; columns in which no
// row has anything are left out.
func (t *Table) Write(b *strings.Builder, indent string) {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		for _, row := range t.rows {
			if n := Cells(row[i]); n > 0 {
				widths[i] = max(widths[i], n, Cells(c.title))
			}
		}
		if c.most > 0 {
			widths[i] = min(widths[i], max(c.most, Cells(c.title)))
		}
	}
	head := make([]string, len(t.columns))
	for i, c := range t.columns {
		head[i] = c.title
	}
	for _, row := range append([][]string{head}, t.rows...) {
		b.WriteString(strings.TrimRight(t.line(row, widths, indent), " ") + "\n")
	}
}

func (t *Table) line(row []string, widths []int, indent string) string {
	line, used := indent, Cells(indent)
	for i, cell := range row {
		if widths[i] == 0 {
			continue
		}
		if i > 0 && used > Cells(indent) {
			line, used = line+"  ", used+2
		}
		width := widths[i]
		if i == len(row)-1 {
			line += Cut(cell, max(Width-used, 8))
			continue
		}
		cell = Cut(cell, width)
		fill := strings.Repeat(" ", width-Cells(cell))
		if t.columns[i].right {
			line += fill + cell
		} else {
			line += cell + fill
		}
		used += width
	}
	return line
}

// Wrap breaks a sentence into lines of at most Width columns, the first after
// first, the others after rest.
func Wrap(b *strings.Builder, first, rest, s string) {
	line, started := first, false
	for _, word := range strings.Fields(s) {
		word = Cut(word, Width-Cells(rest))
		if started && Cells(line)+1+Cells(word) > Width {
			b.WriteString(line + "\n")
			line, started = rest, false
		}
		if started {
			line += " "
		}
		line, started = line+word, true
	}
	b.WriteString(line + "\n")
}
