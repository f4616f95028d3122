package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestThePanicOfAnyGoroutineGivesTheTerminalBackAndShowsWhy(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	term := newTerminal(t, 100, 40)
	term.typed(self + " " + breakingScreen + "; echo code $?")
	term.sees("the screen", `recording · `)
	term.sees("the panic, on the shell's screen",
		`(?s)gpumem crashed.*panic: a goroutine of the recording breaks.*gpumem report r`)
	term.shellIsSane("after a panic")
}

func TestTheTerminalIsGivenBackWhenGpumemIsKilled(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		signal syscall.Signal
		says   string
	}{{syscall.SIGKILL, "was ended from outside"}, {syscall.SIGABRT, `(?s)gpumem crashed.*SIGABRT.*gpumem report r`}} {
		t.Run(how.signal.String(), func(t *testing.T) {
			t.Parallel()
			term := newTerminal(t, 100, 40)
			term.typed(binary + " run --tui --out r -- sleep 600")
			term.sees("recording", `recording · `)
			program := term.traced()
			defer syscall.Kill(program, syscall.SIGKILL)
			if err := syscall.Kill(term.screen(), how.signal); err != nil {
				t.Fatal(err)
			}
			term.sees("why", how.says)
			term.shellIsSane("after " + how.signal.String())
			if crashed := exists(filepath.Join(term.dir, "r",
				tty.CrashFile)); crashed != (how.signal == syscall.SIGABRT) {
				t.Errorf("there is a report of the crash: %v", crashed)
			}
			if err := syscall.Kill(program, 0); err != nil {
				t.Errorf("the program went with gpumem: %v", err)
			}
		})
	}
}

// screen is the gpumem that has the terminal: the child of its shell.
func (term *terminal) screen() int {
	term.t.Helper()
	return childOf(term.t, strings.TrimSpace(term.tmux("list-panes", "-F", "#{pane_pid}")))
}

func TestAKilledStoppedScreenLeavesTheShellItsTerminal(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 100, 40)
	term.typed("set -m; " + binary + " run --tui --out r" + sleeper)
	term.sees("recording", `recording · `)
	screen, program := term.screen(), term.traced()
	defer syscall.Kill(program, syscall.SIGKILL)
	term.keys("C-z")
	term.leaves("stopped")
	syscall.Kill(screen, syscall.SIGKILL)
	term.sees("why", "was ended from outside")
	term.shellIsSane("after a stopped screen was killed")
}

// pseudoTerminal is a terminal whose other end is the test.
type pseudoTerminal struct {
	t      *testing.T
	master *os.File
	mu     sync.Mutex
	seen   bytes.Buffer
}

func (p *pseudoTerminal) resize(w, h int) {
	p.t.Helper()
	size := unix.Winsize{Col: uint16(w), Row: uint16(h)}
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		p.t.Fatal(err)
	}
}

// read reads what is written to the terminal until it is closed.
func (p *pseudoTerminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := p.master.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// onPseudoTerminal starts the program as the leader of a session on a terminal
// that nobody reads yet.
func onPseudoTerminal(t *testing.T, dir string, args ...string) (*pseudoTerminal, *exec.Cmd) {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pseudoTerminal{t: t, master: os.NewFile(uintptr(fd), "ptmx")} // nonblocking: closing it ends its reader
	t.Cleanup(func() { p.master.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	p.resize(200, 60)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "NO_COLOR=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return p, cmd
}

// until waits for something that must come.
func until(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !come(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// recorded is the run so far, nil before there is one.
func recorded(dir string) *record.Run {
	run, err := record.Open(filepath.Join(dir, "r"))
	if err != nil || run.Meta.PID == 0 {
		return nil
	}
	return run
}

func rowsOf(dir string) int {
	if run := recorded(dir); run != nil {
		return run.Samples.Len()
	}
	return 0
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func TestALostTerminalEndsTheScreenAndNotTheRecording(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, cmd := onPseudoTerminal(t, dir, "run", "--tui", "--stay", "--out", "r", "--", "sh", "-c",
		"while [ ! -e end ]; do sleep 0.1; done")
	go p.read()
	until(t, "a recording", func() bool { return rowsOf(dir) > 20 })
	p.master.Close()
	before := rowsOf(dir)
	until(t, "rows after the terminal was lost", func() bool { return rowsOf(dir) > before+20 })
	if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // with the program's code, although the answer could not be printed anywhere
	if cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("gpumem ended with %v", cmd.ProcessState)
	}
	if v := readVerdict(t, filepath.Join(dir, "r")); v.Verdict == "" {
		t.Error("there is no verdict")
	}
}

func TestATerminalThatTakesNothingHoldsNeitherTheRecordingNorTheVerdict(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, cmd := onPseudoTerminal(t, dir, "run", "--tui", "--out", "r", "--", "sh", "-c",
		"while [ ! -e end ]; do sleep 0.1; done")
	until(t, "a recording", func() bool { return rowsOf(dir) > 5 })
	// Each size is a whole screen: more than a terminal keeps for its reader.
	for i := 0; !stuckInWrite(cmd.Process.Pid); i++ {
		if i == 600 {
			t.Fatal("the terminal takes everything")
		}
		p.resize(280+i%20, 90)
		time.Sleep(50 * time.Millisecond)
	}
	before := rowsOf(dir)
	until(t, "rows while the terminal takes nothing", func() bool { return rowsOf(dir) > before+20 })
	if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the report while the terminal takes nothing",
		func() bool { return exists(filepath.Join(dir, "r", record.FileReport)) })
	modes, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	if err != nil || modes.Lflag&(unix.ICANON|unix.ISIG|unix.ECHO) == 0 && modes.Oflag&unix.OPOST == 0 {
		t.Errorf("the terminal is left raw: %+v, %v", modes, err)
	}
	go p.read() // and now it takes all
	if err := cmd.Wait(); err != nil {
		t.Errorf("gpumem ended with %v", err)
	}
	until(t, "the shell's screen and the text", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		text := p.seen.String()
		return strings.Contains(text, "\x1b[?1049l") && strings.Contains(text, "eport: r")
	})
}

// stuckInWrite reports whether a thread of a process waits in write(2) to a
// terminal, for longer than two looks.
func stuckInWrite(pid int) bool {
	for range 5 {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
		stuck := false
		for _, path := range threads {
			text, _ := os.ReadFile(path)
			stuck = stuck || strings.Contains(string(text), "tty_write") || strings.Contains(string(text), "n_tty") ||
				string(text) == "wait_woken"
		}
		if !stuck {
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
	return true
}

func TestNothingOfTheScreenOutlivesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, cmd := onPseudoTerminal(t, dir, "run", "--tui", "--out", "r", "--", "sleep", "2")
	go p.read()
	keeper := 0
	until(t, "a keeper of the terminal", func() bool {
		out, _ := exec.Command("pgrep", "-P", fmt.Sprint(cmd.Process.Pid), "-f", tty.KeeperCommand).Output()
		_, err := fmt.Sscan(string(out), &keeper)
		return err == nil
	})
	if err := cmd.Wait(); err != nil {
		t.Errorf("gpumem ended with %v", err)
	}
	if err := syscall.Kill(keeper, 0); err == nil {
		t.Errorf("the keeper %d is still there", keeper)
	}
}
