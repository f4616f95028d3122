//go:build linux || darwin

package tty

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
)

const (
	// leaveScreen undoes what the screen asks of a terminal: mouse, pasted text
	// in brackets, the hidden cursor, colours, the other screen.
	leaveScreen = "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m\x1b[?1049l"
	// crashLines of a crash are shown; all of it, up to crashBytes, stands in
	// CrashFile of the run folder.
	crashLines = 20
	crashBytes = 1 << 20
)

// Start starts the keeper of the terminal on out, whose modes are still
// the shell's, and has the runtime tell it of a crash. place is the folder of
// the recording, empty without. It returns nil where none can be started: the
// keeper is for what should not happen.
func Start(out *os.File, place string) *Keeper {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer read.Close()
	cmd := exec.Command(self, KeeperCommand, place)
	cmd.Stdin, cmd.Stdout = read, out
	// In a session of its own the terminal's signals do not reach it, and it may
	// set the modes of a terminal in whose background it would be.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	modes, err := unix.IoctlGetTermios(int(out.Fd()), getModes)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		write.Close()
		return nil
	}
	k := &Keeper{pipe: write, cmd: cmd}
	fmt.Fprintln(write, encodeModes(modes))
	_ = debug.SetCrashOutput(write, debug.CrashOptions{}) // the terminal comes back also without the report
	return k
}

// Serve waits for the end of the screen's process and gives the terminal
// back if that did not. It is what [KeeperCommand] does: the screen writes to in, out
// is the terminal.
func Serve(in io.Reader, out *os.File, place string) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTTOU,
		syscall.SIGTSTP)
	lines := bufio.NewReader(in)
	first, err := lines.ReadString('\n')
	if err != nil {
		return nil // it ended before it began
	}
	before, err := decodeModes(strings.TrimSpace(first))
	if err != nil {
		return err
	}
	held := false
	var crash strings.Builder
	for {
		line, err := lines.ReadString('\n')
		switch strings.TrimSpace(line) {
		case keeperDone:
			return nil
		case keeperHold:
			held = true
		case keeperFree:
			held = false
		default:
			if crash.Len() < crashBytes {
				crash.WriteString(line)
			}
		}
		if err != nil {
			break
		}
	}
	if held {
		giveBack(out, before)
	}
	sayCrash(out, crash.String(), place)
	return nil
}

// giveBack sets the modes as they were and leaves the other screen. A shell
// that has set modes of its own meanwhile keeps them.
func giveBack(tty *os.File, before *unix.Termios) {
	fd := int(tty.Fd())
	now, err := unix.IoctlGetTermios(fd, getModes)
	if err == nil && isRaw(now) {
		// It fails for a terminal that is gone only.
		_ = unix.IoctlSetTermios(fd, setModes, before)
	}
	_, _ = tty.WriteString(leaveScreen)
}

// isRaw reports modes that a screen sets and no shell: they read keys one by one
// as well, but have new lines and the keys for signals done by the terminal.
func isRaw(t *unix.Termios) bool {
	return t.Lflag&(unix.ICANON|unix.ISIG|unix.ECHO) == 0 && t.Oflag&unix.OPOST == 0
}

// sayCrash tells a person why the screen has gone.
func sayCrash(tty *os.File, crash, place string) {
	why := "gpumem was ended from outside"
	if crash != "" {
		why = "gpumem crashed, which is a bug in gpumem; please report what follows:\n\n" +
			crashText(crash, place)
	}
	text := "\n" + why + "\n"
	if place != "" {
		text += fmt.Sprintf("gpumem: what was recorded until then: gpumem report %s\n", plain.Shown(place))
	}
	size, err := unix.IoctlGetWinsize(int(tty.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		size = &unix.Winsize{}
	}
	_, _ = tty.WriteString(abovePrompt(text, int(size.Col), int(size.Row)))
}

// abovePrompt is what writes a text above the line of the cursor: the shell was
// told of our end when we were, and may have written its prompt by now. The
// cursor comes to where it was in its line. A text that does not fit the terminal
// is written where the cursor is.
func abovePrompt(text string, width, height int) string {
	const (
		save, restore = "\x1b7", "\x1b8"
		next          = "\x1bD" // line, scrolling at the last one
		up, down      = "\x1b[%dA", "\x1b[%dB"
		insert        = "\x1b[%dL"
	)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) >= height {
		// The terminal's modes may be the shell's by now, or raw.
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], width-1, "…") // one that wraps would take two
	}
	n := len(lines)
	return save + strings.Repeat(next, n) + fmt.Sprintf(up+insert+"\r", n, n) +
		strings.Join(lines, "\r\n") + restore + fmt.Sprintf(down, n)
}

// crashText is the beginning of a crash, and where all of it is.
func crashText(crash, place string) string {
	rest := "…"
	if path := filepath.Join(place, CrashFile); place != "" &&
		os.WriteFile(path, []byte(crash), 0o600) == nil {
		rest = "all of it: " + plain.Shown(path)
	}
	lines := strings.SplitN(strings.TrimSpace(crash), "\n", crashLines+1)
	if len(lines) > crashLines {
		lines[crashLines] = rest
	}
	return strings.Join(lines, "\n") + "\n"
}

// encodeModes writes terminal modes as a line, for decodeModes.
func encodeModes(t *unix.Termios) string {
	text, _ := json.Marshal(t) // numbers only
	return string(text)
}

func decodeModes(line string) (*unix.Termios, error) {
	t := &unix.Termios{}
	if err := json.Unmarshal([]byte(line), t); err != nil {
		return nil, fmt.Errorf("read the modes of the terminal: %w", err)
	}
	return t, nil
}
