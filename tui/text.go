package tui

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// width is how many cells a text takes.
func width(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// cut shortens a text to n cells at most.
func cut(s string, n int) string {
	switch {
	case n <= 0:
		return ""
	case width(s) <= n:
		return s
	}
	return ansi.Truncate(s, n, "…")
}

// fit makes a text exactly n cells wide.
func fit(s string, n int) string {
	s = cut(s, n)
	return s + blanks(n-width(s))
}

// right puts a text at the right end of n cells.
func right(s string, n int) string {
	s = cut(s, n)
	return blanks(n-width(s)) + s
}

const blankRun = "                                                                                         " +
	"           "

func blanks(n int) string {
	switch {
	case n <= 0:
		return ""
	case n <= len(blankRun):
		return blankRun[:n]
	}
	return strings.Repeat(" ", n)
}

// wrap breaks a text into lines of n cells at most, the later ones indented.
func wrap(s string, n, indent int) []string {
	if n <= 0 {
		return nil
	}
	indent = min(indent, n/2)
	first, rest := ansi.Wrap(s, n, ""), ""
	if indent > 0 && strings.ContainsRune(first, '\n') {
		head, _, _ := strings.Cut(first, "\n")
		rest = strings.TrimLeft(s[min(len(head), len(s)):], " ")
		lines := []string{head}
		for _, l := range strings.Split(ansi.Wrap(rest, n-indent, ""), "\n") {
			lines = append(lines, blanks(indent)+l)
		}
		return lines
	}
	return strings.Split(first, "\n")
}

// box is a panel's frame: a rule with its number, which is the key that selects it,
// and its title, then exactly h-1 lines of w cells.
func (s *styles) box(id panelID, name string, focused bool, body []string, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	lead, t := "── ", title
	if focused {
		lead, t = "━▸ ", focus
	}
	if id < panelCount {
		name = string(rune('1'+min(id, panelComposition))) + " " + name
	}
	name = cut(name, max(w-6, 1))
	rule := w - width(lead) - width(name) - 1
	head := s.paint(dim, lead) + s.paint(t, name) + " " + s.paint(dim, strings.Repeat("─", max(rule, 0)))
	lines := make([]string, 0, h)
	lines = append(lines, fit(head, w))
	for i := range h - 1 {
		if i < len(body) {
			lines = append(lines, fit(body[i], w))
		} else {
			lines = append(lines, blanks(w))
		}
	}
	return strings.Join(lines, "\n")
}

// asciiOf are the stand-ins of the characters the screen itself uses.
var asciiOf = map[rune]byte{
	'─': '-', '━': '=', '│': '|', '└': '+', '┤': '+', '┼': '+', '┬': '+', '▸': '>', '▶': '>', '▲': '^',
	'△': '^', '▼': 'v', '●': '*', '○': 'o', '◆': '*',
	'◇': 'o', '✓': 'v', '✗': 'x', '…': '~', '–': '-', '−': '-', '·': '.', '×': 'x', '→': '>', '←': '<',
	'↑': '^', '↓': 'v', '⏸': '|', 'Σ': 'S', '≤': '<', '≥': '>',
	'█': '#', '▓': '=', '▒': '+', '░': '.', '▁': '_', '▂': '.', '▃': '-', '▄': '=', '▅': '+', '▆': '*',
	'▇': '%', '’': '\'', '“': '"', '”': '"', '½': '2',
}

// toASCII replaces everything beyond ASCII by something of the same width.
func toASCII(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	from := -1 // start of a run of characters without a stand-in
	flush := func(to int) {
		if from >= 0 {
			b.WriteString(strings.Repeat("?", width(s[from:to])))
			from = -1
		}
	}
	for i, r := range s {
		c, ok := asciiOf[r]
		if r < utf8.RuneSelf {
			c, ok = byte(r), true
		}
		switch {
		case ok:
			flush(i)
			b.WriteByte(c)
		case from < 0:
			from = i
		}
	}
	flush(len(s))
	return b.String()
}
