package main

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// lineWidth is how many columns the text of a command takes at most.
const lineWidth = 100

// cellsOf is how many columns of a terminal s takes: 2 for wide characters, 0
// for combining ones. The locale's opinion on ambiguous ones is not asked.
func cellsOf(s string) int {
	c := runewidth.Condition{}
	return c.StringWidth(s)
}

// cut shortens s to width columns, with "…" for what is left out.
func cut(s string, width int) string {
	if cellsOf(s) <= width {
		return s
	}
	c := runewidth.Condition{}
	return c.Truncate(s, width, "…")
}

// shown makes a foreign string fit for a terminal: what would move its cursor,
// change its colours or the direction of its text is replaced.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// column is one of a textTable: numbers stand at the right. A column with a
// greatest width is cut to it; the last column gets what the line has left.
type column struct {
	title string
	right bool
	most  int // 0 is no bound
}

// textTable is rows of cells in aligned columns.
type textTable struct {
	columns []column
	rows    [][]string
}

func (t *textTable) add(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table into b, each line after indent; columns in which no
// row has anything are left out.
func (t *textTable) write(b *strings.Builder, indent string) {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		for _, row := range t.rows {
			if n := cellsOf(row[i]); n > 0 {
				widths[i] = max(widths[i], n, cellsOf(c.title))
			}
		}
		if c.most > 0 {
			widths[i] = min(widths[i], max(c.most, cellsOf(c.title)))
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

func (t *textTable) line(row []string, widths []int, indent string) string {
	line, used := indent, cellsOf(indent)
	for i, cell := range row {
		if widths[i] == 0 {
			continue
		}
		if i > 0 && used > cellsOf(indent) {
			line, used = line+"  ", used+2
		}
		width := widths[i]
		if i == len(row)-1 {
			line += cut(cell, max(lineWidth-used, 8))
			continue
		}
		cell = cut(cell, width)
		fill := strings.Repeat(" ", width-cellsOf(cell))
		if t.columns[i].right {
			line += fill + cell
		} else {
			line += cell + fill
		}
		used += width
	}
	return line
}

// wrapped breaks a sentence into lines of at most lineWidth columns, the first
// after first, the others after rest.
func wrapped(b *strings.Builder, first, rest, s string) {
	line, started := first, false
	for _, word := range strings.Fields(s) {
		word = cut(word, lineWidth-cellsOf(rest))
		if started && cellsOf(line)+1+cellsOf(word) > lineWidth {
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
