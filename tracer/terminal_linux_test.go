package tracer

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo terminal.
func openTerminal(t *testing.T) (keyboard, tty *os.File) {
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	fd := int(keyboard.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return keyboard, tty
}

func TestCtrlCOnATerminalEndsTheProgramOnceAndLeavesTheRun(t *testing.T) {
	t.Parallel()
	keyboard, tty := openTerminal(t)
	cmd, dir := tracerProcess(t, "relay")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	screen := bufio.NewReader(keyboard)
	expectLine(t, screen, "ready\r")
	if _, err := keyboard.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	expectLine(t, screen, "^Cinterrupt\r")
	rest, _ := screen.ReadString(0) // until the terminal is closed by its last user
	if strings.Contains(rest, "interrupt") {
		t.Errorf("the program was interrupted again: %q", rest)
	}
	cmd.Wait()
	run, err := record.Open(dir)
	if err != nil || cmd.ProcessState.ExitCode() != 7 || *run.Meta.ExitCode != 7 || run.Meta.End == nil {
		t.Errorf("tracer ended with %v, %+v, %v", cmd.ProcessState, run.Meta, err)
	}
}
