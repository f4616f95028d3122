package main

import (
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"
)

// writeBesidePrompt is a shell's prompt with the line between.
func writeBesidePrompt() {
	fmt.Print("PROMPT> ")
	sayCrash(os.Stdout, "", "r")
	fmt.Print("typed")
	time.Sleep(time.Minute)
}

func TestWhyTheScreenHasGoneStandsAboveThePromptThatCameFirst(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, before := range map[string]string{"in the middle": "clear; ", "at the bottom": "seq 40; "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := newTerminal(t, 60, 12)
			term.typed(before + "exec " + self + " " + besidePrompt)
			picture := term.sees("the prompt", `PROMPT> typed`)
			if !regexp.MustCompile(`(?s)was ended from outside\ngpumem: what was recorded.*report r\nPROMPT> typed\n*$`).MatchString(picture) {
				t.Errorf("the prompt is not the last line:\n%s", picture)
			}
		})
	}
}

func TestATextHigherThanTheTerminalIsWrittenWhereTheCursorIs(t *testing.T) {
	t.Parallel()
	if got := abovePrompt("a\nb\n", 80, 2); got != "a\r\nb\r\n" {
		t.Errorf("%q", got)
	}
	if got := abovePrompt("a\n", 0, 0); got != "a\r\n" {
		t.Errorf("a terminal of unknown size: %q", got)
	}
}
