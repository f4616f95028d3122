package tty

import (
	"os"

	"github.com/charmbracelet/x/term"
	"github.com/mattn/go-isatty"
)

// Is reports whether a person looks at f.
func Is(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

// Width is how many cells a line of f has, 80 when f does not tell.
func Width(f *os.File) int {
	if w, _, err := term.GetSize(f.Fd()); err == nil && w > 0 {
		return w
	}
	return 80
}

// widestText is how wide a text may be: wider lines are hard to read.
const widestText = 100

// TextWidth is how many columns a text that is written to f may use.
func TextWidth(f *os.File) int {
	if Is(f) {
		return min(Width(f), widestText)
	}
	return widestText
}

// WantColor follows https://no-color.org: a non-empty NO_COLOR means none, and
// there is none where nobody looks.
func WantColor(f *os.File, getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && Is(f)
}
