package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/tty"
)

// writeBesidePrompt is a shell's prompt with the line between.
func writeBesidePrompt() {
	fmt.Print("PROMPT> ")
	// The keeper is told the modes, and then the screen's process is gone.
	if err := tty.Serve(strings.NewReader("{}\n"), os.Stdout, "r"); err != nil {
		fmt.Println(err)
	}
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
