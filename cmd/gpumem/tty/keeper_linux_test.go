package tty

import "testing"

func TestATextHigherThanTheTerminalIsWrittenWhereTheCursorIs(t *testing.T) {
	t.Parallel()
	if got := abovePrompt("a\nb\n", 80, 2); got != "a\r\nb\r\n" {
		t.Errorf("%q", got)
	}
	if got := abovePrompt("a\n", 0, 0); got != "a\r\n" {
		t.Errorf("a terminal of unknown size: %q", got)
	}
}
