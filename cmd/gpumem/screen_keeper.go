package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// keeperCommand is the hidden command of the process that gives the terminal
// back when gpumem ends without doing so: by a panic in any goroutine, a fatal
// error of the runtime, or SIGKILL. Nothing in a process can do that for
// itself.
const keeperCommand = "__terminal"

// What the screen tells its keeper, a line each. What comes otherwise is the
// runtime's report of a crash.
const (
	keeperHold = "hold" // the screen has the terminal
	keeperFree = "free" // the shell has it: stopped
	keeperDone = "done" // given back for good
)

// keeper is the screen's end of the pipe to that process. A nil keeper does
// nothing: the screen works without.
type keeper struct {
	pipe *os.File
	cmd  *exec.Cmd
}

// held tells who has the terminal.
func (k *keeper) held(screen bool) {
	if k == nil {
		return
	}
	word := keeperFree
	if screen {
		word = keeperHold
	}
	// Without a keeper there is nobody to tell.
	_, _ = fmt.Fprintln(k.pipe, word)
}

// end lets the keeper go. When the terminal could not be given back, it stays
// and tries when we have ended.
func (k *keeper) end(given bool) {
	if k == nil {
		return
	}
	if !given {
		return // the pipe closes with us
	}
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	_, _ = fmt.Fprintln(k.pipe, keeperDone)
	_ = k.pipe.Close()
	_ = k.cmd.Wait()
}

func newKeeperCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use: keeperCommand, Hidden: true, Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			place := ""
			if len(args) > 0 {
				place = args[0]
			}
			return keepTerminal(std.in, std.out, place)
		},
	}
}
