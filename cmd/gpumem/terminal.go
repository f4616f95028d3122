package main

import (
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/mattn/go-isatty"
)

// isTerminal reports whether a person looks at f.
func isTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

// terminalWidth is how many cells a line of f has, 80 when f does not tell.
func terminalWidth(f *os.File) int {
	if w, _, err := term.GetSize(f.Fd()); err == nil && w > 0 {
		return w
	}
	return 80
}

// widestText is how wide a text may be: wider lines are hard to read.
const widestText = 100

// textWidth is how many columns a text that is written to f may use.
func textWidth(f *os.File) int {
	if isTerminal(f) {
		return min(terminalWidth(f), widestText)
	}
	return widestText
}

// wantColor follows https://no-color.org: a non-empty NO_COLOR means none, and
// there is none where nobody looks.
func wantColor(f *os.File, getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && isTerminal(f)
}
