//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAReportFitsTheTerminal(t *testing.T) {
	t.Parallel()
	const width = 72
	term := newTerminal(t, width, 60)
	sample := "t_ms,rss_bytes,step\n" + strings.Repeat("0,1000000,1\n", 20)
	if err := os.WriteFile(filepath.Join(term.dir, "s.csv"), []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	term.typed("clear; " + binary + " report s.csv; echo that-is-$((40+2))")
	term.sees("the end of the report", "that-is-42")
	// lines that the terminal broke are joined
	for _, line := range strings.Split(term.tmux("capture-pane", "-p", "-J"), "\n") {
		if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > width &&
			!strings.Contains(line, "clear; ") {
			t.Errorf("%d columns of %d: %s", n, width, line)
		}
	}
}
