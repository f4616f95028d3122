package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxMarkdown is how many characters a Markdown report may have: a comment
// on GitHub holds 65,536, and the reader wants to add a word.
const maxMarkdown = 60_000

// writeMarkdown writes the document for a ticket. When it would be too long,
// the longest tables and lists lose rows from their ends, and say so.
func writeMarkdown(w io.Writer, d *document, o Options) error {
	for rows := maxRows; ; rows /= 2 {
		text := markdown(d, rows)
		if utf8.RuneCount(text) <= maxMarkdown || rows == 0 {
			if n := utf8.RuneCount(text); n > maxMarkdown {
				text = append([]byte(string([]rune(string(text))[:maxMarkdown-2])), "…\n"...)
			}
			_, err := w.Write(text)
			return err
		}
	}
}

// markdown renders with at most rows rows a table or list.
func markdown(d *document, rows int) []byte {
	var b bytes.Buffer
	if d.title != "" {
		fmt.Fprintf(&b, "## %s\n\n", mdEscape(d.title))
	}
	if d.oom != "" {
		fmt.Fprintf(&b, "**%s**\n", mdEscape(d.oom))
	}
	lead, claim := mdEscape(d.lead()), ""
	if d.claim != "" {
		lead, claim = lead+":", " "+mdEscape(d.claim)
	}
	if d.oom != "" && d.grows() {
		b.WriteByte('\n')
	}
	if d.grows() {
		fmt.Fprintf(&b, "**%s**%s\n", lead, claim)
	}
	if d.next != "" {
		fmt.Fprintf(&b, "\n**%s** %s\n", nextTitle, mdEscape(d.next))
	}
	if d.note != "" {
		fmt.Fprintf(&b, "\n%s\n", mdEscape(d.note))
	}
	for _, s := range d.sections {
		fmt.Fprintf(&b, "\n### %s\n", s.title)
		for _, bl := range s.blocks {
			mdBlock(&b, bl, rows)
		}
	}
	if d.producer != "" {
		fmt.Fprintf(&b, "\n<sub>written by %s</sub>\n", mdEscape(d.producer))
	}
	return b.Bytes()
}

func mdBlock(b *bytes.Buffer, bl block, rows int) {
	if bl.head != "" {
		fmt.Fprintf(b, "\n**%s**\n", mdEscape(bl.head))
	}
	if bl.text != "" {
		fmt.Fprintf(b, "\n%s\n", mdEscape(bl.text))
	}
	for _, c := range bl.charts {
		mdChart(b, c)
	}
	if bl.table != nil {
		mdTable(b, bl.table, rows)
	}
	if len(bl.list) > 0 {
		b.WriteByte('\n')
	}
	for i, item := range bl.list {
		if i == rows {
			fmt.Fprintf(b, "- … and %d more\n", len(bl.list)-rows)
			break
		}
		fmt.Fprintf(b, "- %s\n", mdEscape(item))
	}
	if len(bl.pairs) > 0 {
		b.WriteString("\n| | |\n|---|---|\n")
	}
	for i, p := range bl.pairs {
		if i == max(rows, 1) {
			fmt.Fprintf(b, "| … | %d more |\n", len(bl.pairs)-i)
			break
		}
		fmt.Fprintf(b, "| %s | %s |\n", mdEscape(p.name), mdEscape(p.value))
	}
	if bl.code != "" {
		fence := fenceFor(bl.code)
		fmt.Fprintf(b, "\n%s\n%s\n%s\n", fence, bl.code, fence)
	}
}

// mdChart is the chart in characters, in a fence that nothing in it can close.
func mdChart(b *bytes.Buffer, c chart) {
	var text bytes.Buffer
	if err := writeChartText(&text, c); err != nil {
		return // a bytes.Buffer does not fail
	}
	fence := fenceFor(text.String())
	fmt.Fprintf(b, "\n%s\n%s%s\n", fence, text.String(), fence)
}

func mdTable(b *bytes.Buffer, t *table, rows int) {
	t, note := t.folded()
	if len(t.rows)+len(t.foot) == 0 && note != "" {
		fmt.Fprintf(b, "\n%s\n", mdEscape(note))
		return
	}
	fmt.Fprintf(b, "\n%s\n\n", mdEscape(t.caption))
	head, rule := "|", "|"
	for _, c := range t.head {
		head += " " + mdEscape(c.title) + " |"
		if c.right {
			rule += "---:|"
		} else {
			rule += "---|"
		}
	}
	b.WriteString(head + "\n" + rule + "\n")
	line := func(row []string, mark string) {
		b.WriteByte('|')
		for _, cell := range row {
			if cell = mdEscape(cell); cell != "" && mark != "" {
				cell = mark + cell + mark
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteByte('\n')
	}
	for i, row := range t.rows {
		if i == rows {
			line(append([]string{fmt.Sprintf("… and %d more", len(t.rows)-i)},
				make([]string, len(t.head)-1)...), "")
			break
		}
		line(row, "")
	}
	for _, row := range t.foot {
		line(row, "**")
	}
	if note != "" {
		fmt.Fprintf(b, "\n%s\n", mdEscape(note))
	}
}

// fenceFor is a row of backticks longer than any in s.
func fenceFor(s string) string {
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return strings.Repeat("`", max(3, longest+1))
}

// mdEscape makes s show as itself: HTML by entities, what Markdown acts upon
// by a backslash, and what GitHub acts upon ("@name" notifies people, "#12"
// links tickets, "://" links anything) by a comment in between, which leaves
// the text that a reader copies as it was.
func mdEscape(s string) string {
	const apart = "<!-- -->"
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case strings.ContainsRune("\\`*_{}[]|~!$", r), i == 0 &&
			(strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "+ ") || r == '='):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '@', r == '#', r == ':' && strings.HasPrefix(s[i:], "://"):
			b.WriteRune(r)
			b.WriteString(apart)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
