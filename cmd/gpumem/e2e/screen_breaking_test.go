package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/screen"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
)

// besidePrompt is the argument with which the test's own program writes a
// prompt, and then says why the screen has gone.
const besidePrompt = "__beside_prompt"

// breakingScreen is the argument with which the test's own program shows a
// screen over a recording that breaks.
const breakingScreen = "__breaking_screen"

// actAs is the test's own program in a part that it plays for a test, and
// reports whether there was one.
func actAs(part string) bool {
	switch part {
	case breakingScreen:
		breakScreen()
	case besidePrompt:
		writeBesidePrompt()
	case tty.KeeperCommand:
		if err := tty.Serve(os.Stdin, os.Stdout, strings.Join(os.Args[2:], "")); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	default:
		return false
	}
	return true
}

// breakScreen is a recording on a terminal, one of whose goroutines panics.
func breakScreen() {
	s := screen.Recording{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
		Name: "breaking", Owned: true}
	cfg := tracer.Config{Out: "r", Interval: 20 * time.Millisecond, Command: []string{"sleep", "600"}}
	cfg.Watch = append(cfg.Watch, func(_ context.Context, pid int, _ func(record.Event)) {
		time.Sleep(2 * time.Second) // the screen stands by then
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
		go panic("a goroutine of the recording breaks") // one that nobody guards
	})
	_, _ = screen.Record(context.Background(), s, false, cfg, tracer.Run)
}
