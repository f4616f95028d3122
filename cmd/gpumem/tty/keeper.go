package tty

import (
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
)

// KeeperCommand is the hidden command of the process that gives the terminal
// back when gpumem ends without doing so: by a panic in any goroutine, a fatal
// error of the runtime, or SIGKILL. Nothing in a process can do that for
// itself.
const KeeperCommand = "__terminal"

// CrashFile is the file of a run folder that holds the whole report of a crash.
const CrashFile = "gpumem-crash.txt"

// What the screen tells its Keeper, a line each. What comes otherwise is the
// runtime's report of a crash.
const (
	keeperHold = "hold" // the screen has the terminal
	keeperFree = "free" // the shell has it: stopped
	keeperDone = "done" // given back for good
)

// Keeper is the screen's end of the pipe to that process. A nil Keeper does
// nothing: the screen works without.
type Keeper struct {
	pipe *os.File
	cmd  *exec.Cmd
}

// Held tells who has the terminal.
func (k *Keeper) Held(screen bool) {
	if k == nil {
		return
	}
	word := keeperFree
	if screen {
		word = keeperHold
	}
	// Without a Keeper there is nobody to tell.
	_, _ = fmt.Fprintln(k.pipe, word)
}

// End lets the Keeper go. When the terminal could not be given back, it stays
// and tries when we have ended.
func (k *Keeper) End(given bool) {
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
