package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

func TestOnATerminalARefusalIsSaidOnce(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 200, 50)
	cmd := exec.Command("python3", "-c", "import time\nprint('ready', flush=True)\nwhile True: time.sleep(.01)")
	cmd.Env = append(cmd.Environ(), "PYTHON_DISABLE_REMOTE_DEBUG=1")
	g := guestOf(t, cmd)
	term.typed("clear; " + binary + " attach " + pidOf(g.Cmd) + " -q --no-tui --for 2s; echo that-is-$((40+2))")
	seen := term.sees("the end of the attach", "that-is-42")
	if n := strings.Count(seen, "looking from outside only"); n != 1 {
		t.Errorf("it is said %d times\n%s", n, seen)
	}
}
