package report

import (
	"bufio"
	"io"
	"strings"
	"unicode"

	"github.com/gpumem/gpumem/report/verdict"
)

// Widths of a terminal report, in columns.
const (
	defaultWidth = 100
	minWidth     = 40
)

// textWriter writes a document for a terminal.
type textWriter struct {
	out   *bufio.Writer
	width int
	color bool
}

func newTextWriter(w io.Writer, o Options) *textWriter {
	t := &textWriter{out: bufio.NewWriter(w), width: defaultWidth, color: o.Color}
	if o.Width > 0 {
		t.width = max(o.Width, minWidth)
	}
	return t
}

func writeText(w io.Writer, d *document, o Options) error {
	t := newTextWriter(w, o)
	t.head(d)
	for _, s := range d.sections {
		t.line("")
		t.line(t.paint(ansiBold, s.title))
		for i, b := range s.blocks {
			if i > 0 {
				t.line("")
			}
			t.block(b)
		}
	}
	return t.out.Flush()
}

// ANSI attributes; meaning is never in the colour alone.
const (
	ansiBold   = "1"
	ansiDim    = "2"
	ansiRed    = "1;31"
	ansiYellow = "1;33"
	ansiGreen  = "1;32"
)

func (t *textWriter) paint(code, s string) string {
	if !t.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t *textWriter) line(s string) {
	t.out.WriteString(strings.ReplaceAll(strings.TrimRight(s, " "), noBreak, " "))
	t.out.WriteByte('\n')
}

// head is the verdict: what a reader takes away who reads nothing else.
func (t *textWriter) head(d *document) {
	code := ansiRed
	switch d.class {
	case verdict.None:
		code = ansiGreen
	case verdict.Undecided:
		code = ansiYellow
	}
	if d.title != "" {
		t.line(t.paint(ansiDim, prefix(d.title, t.width)))
	}
	t.sentence(d.oom, verdict.OutOfMemory, ansiRed)
	if d.grows() {
		t.sentence(d.sentence(), string(d.class), code)
	}
	if d.next != "" {
		t.line("")
		lines := wrap(nextTitle+" "+d.next, t.width)
		lines[0] = t.paint(ansiBold, nextTitle) + strings.TrimPrefix(lines[0], nextTitle)
		for _, l := range lines {
			t.line(l)
		}
	}
	t.paragraph(d.note, "", "")
}

// sentence wraps s and paints what it begins with. An empty s writes nothing.
func (t *textWriter) sentence(s, start, code string) {
	if s == "" {
		return
	}
	for i, l := range wrap(s, t.width) {
		if rest, ok := strings.CutPrefix(l, start); ok && i == 0 {
			l = t.paint(code, start) + rest
		}
		t.line(l)
	}
}

func (t *textWriter) block(b block) {
	for i, l := range wrap(b.head, t.width-2) {
		if b.head != "" || i > 0 {
			t.line("  " + t.paint(ansiBold, l))
		}
	}
	t.paragraph(b.text, "  ", "  ")
	for _, c := range b.charts {
		t.table(sparkTable(c, t.width))
		if c.id != b.charts[len(b.charts)-1].id {
			t.line("")
		}
	}
	if b.table != nil {
		t.table(b.table)
	}
	for _, item := range b.list {
		t.paragraph(item, "  - ", "    ")
	}
	t.pairs(b.pairs)
	if b.code != "" {
		t.line("  " + strings.ReplaceAll(b.code, "\n", "\n  ")) // never wrapped: it is to be copied
	}
}

// widestName is how far values of pairs are indented at most, and half of the width where
// that is less; a longer name has a line of its own.
const widestName = 28

func (t *textWriter) pairs(ps []pair) {
	name, most := 0, min(widestName, t.width/2-4)
	for _, p := range ps {
		name = max(name, min(cells(p.name), most))
	}
	rest := strings.Repeat(" ", name+4)
	for _, p := range ps {
		first := "  " + pad(p.name, name, false) + "  "
		if cells(p.name) > most {
			t.paragraph(p.name, "  ", "    ")
			first = rest
		}
		t.paragraph(p.value, first, rest)
	}
}

// paragraph wraps s to the width, the first line after first, others after
// rest. An empty s writes nothing.
func (t *textWriter) paragraph(s, first, rest string) {
	if s == "" {
		return
	}
	indent := first
	for _, l := range wrap(s, max(t.width-max(cells(first), cells(rest)), 20)) {
		t.line(indent + l)
		indent = rest
	}
}

// table writes captions dim, numbers to the right, and wraps the widest
// column of words until the rows fit the width.
func (t *textWriter) table(tb *table) {
	tb, note := tb.folded()
	if len(tb.rows)+len(tb.foot) > 0 || note == "" {
		t.rows(tb)
	}
	t.paragraph(note, "  ", "  ")
}

// rows writes a table as it is given, with its caption.
func (t *textWriter) rows(tb *table) {
	t.paragraph(tb.caption, "  ", "  ")
	all := [][]string{make([]string, len(tb.head))}
	for i, c := range tb.head {
		all[0][i] = c.title
	}
	all = append(append(all, tb.rows...), tb.foot...)
	widths := t.fit(tb, all)
	for r, row := range all {
		if len(tb.foot) > 0 && r == 1+len(tb.rows) {
			t.rule(widths)
		}
		t.row(tb, row, widths, r == 0)
	}
}

func (t *textWriter) rule(widths []int) {
	n := 2 * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	t.line("  " + t.paint(ansiDim, strings.Repeat("─", n)))
}

// fit chooses the columns' widths: the widest ones give way first, in rounds of
// which the early ones break at blanks only and keep numbers whole.
func (t *textWriter) fit(tb *table, rows [][]string) []int {
	widths, whole := naturalWidths(tb, rows)
	total := 0
	for _, w := range widths {
		total += w + 2
	}
	for _, round := range [...]struct {
		least int
		whole bool
	}{{18, true}, {10, true}, {18, false}, {10, false}, {5, false}, {3, false}} {
		for total > t.width {
			widest := -1
			for i, w := range widths {
				floor := round.least
				if round.whole {
					floor = max(floor, whole[i])
				}
				if w > floor && (widest < 0 || w > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
			total--
		}
	}
	return widths
}

// naturalWidths are the widths at which no cell is broken, and those at which
// no word and no number is. The first row is the head.
func naturalWidths(tb *table, rows [][]string) (widths, whole []int) {
	widths, whole = make([]int, len(tb.head)), make([]int, len(tb.head))
	for r, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cells(cell))
			if r > 0 && tb.head[i].right {
				whole[i] = max(whole[i], cells(cell))
				continue
			}
			for _, word := range strings.Fields(cell) {
				whole[i] = max(whole[i], cells(word))
			}
		}
	}
	return widths, whole
}

// row writes one row, over several lines where a cell is wrapped.
func (t *textWriter) row(tb *table, row []string, widths []int, head bool) {
	parts := make([][]string, len(row))
	height := 1
	for i, cell := range row {
		parts[i] = wrap(cell, widths[i])
		height = max(height, len(parts[i]))
	}
	for k := range height {
		var b strings.Builder
		for i := range row {
			cell := ""
			if k < len(parts[i]) {
				cell = parts[i][k]
			}
			b.WriteString("  " + pad(cell, widths[i], tb.head[i].right))
		}
		s := strings.TrimRight(b.String(), " ")
		if head {
			s = t.paint(ansiDim, s)
		}
		t.line(s)
	}
}

// pad fills s with blanks to width columns, at the left when right is set.
func pad(s string, width int, right bool) string {
	fill := strings.Repeat(" ", max(width-cells(s), 0))
	if right {
		return fill + s
	}
	return s + fill
}

// wrap breaks s at blanks into lines of at most width columns; a longer word
// is cut.
func wrap(s string, width int) []string {
	if cells(s) <= width {
		return []string{s}
	}
	var lines []string
	cur := ""
	for _, word := range strings.Split(s, " ") {
		switch {
		case cur == "":
			cur = word
		case cells(cur)+1+cells(word) <= width:
			cur += " " + word
		default:
			lines = append(lines, cur)
			cur = word
		}
		for cells(cur) > width {
			head := prefix(cur, width)
			lines = append(lines, head)
			cur = cur[len(head):]
		}
	}
	return append(lines, cur)
}

// prefix is as much of s as width columns hold, at least one character.
func prefix(s string, width int) string {
	n := 0
	for i, r := range s {
		n += cellWidth(r)
		if n > width && i > 0 {
			return s[:i]
		}
	}
	return s
}

// cells is how many columns of a terminal s takes.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += cellWidth(r)
	}
	return n
}

// wide are the blocks that terminals draw over two columns (the W and F
// classes of Unicode's UAX 11, by block).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

func cellWidth(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// writeChartText writes one chart in characters, as a terminal report has it.
func writeChartText(w io.Writer, c chart) error {
	t := &textWriter{out: bufio.NewWriter(w), width: defaultWidth}
	t.table(sparkTable(c, t.width))
	return t.out.Flush()
}
