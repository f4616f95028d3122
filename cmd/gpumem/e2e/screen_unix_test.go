//go:build unix

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// terminal is a tmux server of its own with one shell in it.
type terminal struct {
	t      *testing.T
	socket string
	dir    string
}

// newTerminal starts a terminal of that size. Without tmux nothing drives the
// screen, and the test says so.
func newTerminal(t *testing.T, w, h int, env ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: the screen is not driven by keys here")
	}
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	term := &terminal{t: t, socket: filepath.Join(dir, "s"), dir: dir}
	args := []string{"-S", term.socket, "-f", os.DevNull, "-u", "new-session", "-d", "-x", strconv.Itoa(w), "-y",
		strconv.Itoa(h)}
	cmd := exec.Command("tmux", append(args, "exec sh")...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "TMUX=") || strings.HasPrefix(e, "NO_COLOR=") || strings.HasPrefix(e, "LC_") ||
			strings.HasPrefix(e, "LANG=")
	}), append([]string{"TERM=xterm-256color", "LANG=C.UTF-8", "PS1=$ "}, env...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	t.Cleanup(func() { exec.Command("tmux", "-S", term.socket, "kill-server").Run() })
	return term
}

func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", term.socket}, args...)...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// typed types a line of text and enter.
func (term *terminal) typed(line string) {
	term.t.Helper()
	term.tmux("send-keys", "-l", line)
	term.tmux("send-keys", "Enter")
}

func (term *terminal) keys(names ...string) {
	term.t.Helper()
	for _, n := range names {
		term.tmux("send-keys", n)
	}
}

func (term *terminal) picture() string { return term.tmux("capture-pane", "-p") }

// patience is how long something is awaited that comes at once on a machine with nothing
// else to do. Only a test that fails waits for so long.
const patience = 2 * time.Minute

// sees waits until the terminal shows what the pattern matches.
func (term *terminal) sees(what, pattern string) string {
	term.t.Helper()
	want := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(patience); ; time.Sleep(30 * time.Millisecond) {
		picture := term.picture()
		if want.MatchString(picture) {
			return picture
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("%s: %q is not on the terminal after %s:\n%s", what, pattern, patience, picture)
		}
	}
}

// shellIsSane asserts that the terminal is as a shell wants it: it echoes, the
// cursor shows, and the other screen is gone.
func (term *terminal) shellIsSane(what string) {
	term.t.Helper()
	term.leaves(what)
	term.typed("stty -a | grep -o ' echo ' ; echo sane-$((40+2))")
	picture := term.sees(what, `(?s)echo sane-.*sane-42`)
	if !strings.Contains(picture, " echo \n") && !strings.Contains(picture, " echo\n") {
		term.t.Errorf("%s: the terminal does not echo:\n%s", what, picture)
	}
	if got := strings.TrimSpace(term.tmux("display-message", "-p",
		"#{alternate_on} #{cursor_flag} #{mouse_any_flag}")); got != "0 1 0" {
		term.t.Errorf("%s: other screen, cursor, mouse are %q, want \"0 1 0\"", what, got)
	}
}

// leaves waits until the other screen is left and a shell reads the terminal.
func (term *terminal) leaves(what string) {
	term.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if strings.TrimSpace(term.tmux("display-message", "-p", "#{alternate_on} #{pane_current_command}")) == "0 sh" {
			return
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("%s: the screen is still there after %s:\n%s", what, patience, term.picture())
		}
	}
}

func TestTheScreenShowsTheVerdictTurnAndThenTheText(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 120, 40)
	// Of a program that makes a row a second there is no verdict for 40 s.
	term.typed(binary + " run --tui --interval 1s --out w -- sleep 600")
	term.sees("at first", "No verdict yet")
	term.keys("q", "e")
	term.leaves("the first")
	// The screen stays: on a busy machine the program is over, and a screen that ends
	// with it is gone, before anybody has looked.
	term.typed("clear; " + binary + " run --stay --out r nqueens --fault no-autorelease-pool")
	term.sees("then", `driver-growth (confirmed|likely|suspected)`)
	term.sees("the turn", `turned: no verdict`)
	term.sees("its end", `ended`)
	term.keys("q")
	term.sees("the text at the end", `Report: r`)
	term.shellIsSane("after the end")
	if v := readVerdict(t, filepath.Join(term.dir, "r")); v.Verdict != "driver-growth" {
		t.Errorf("verdict.json says %s", v.Verdict)
	}
	if log, err := os.ReadFile(filepath.Join(term.dir, "r", record.FileStdout)); err != nil ||
		!strings.Contains(string(log), "attempts") {
		t.Errorf("the program's output is not in its log: %v %q", err, log)
	}
}

// sleeper is a program that runs until it is ended, and writes.
const sleeper = ` -- sh -c 'while :; do echo tick; sleep 0.2; done'`

func TestEveryKeyOfTheScreenDoesItsPart(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 120, 40)
	term.typed(binary + " run --tui --out r" + sleeper)
	term.sees("recording", `recording`)
	steps := []struct{ key, want string }{
		{"?", `Keys ─`}, {"Escape", `Accounts ─`}, {"F1", `Keys ─`}, {"q", `Accounts ─`},
		{"Tab", `▸ 2 Verdict`}, {"BTab", `▸ 1 Accounts`}, {"3", `▸ 3 Processes`}, {"j", `▸ \d+`},
		{"k", `▸ \d+`}, {"Down", `▸`}, {"Up", `▸`}, {"Enter", `▸ \d+`},
		{"n", `PID \d+`}, {"N", `PID \d+`}, {"o", `Processes by growth`}, {"O", `by growth, reversed`},
		{"/", `Filter:`}, {"x", `Filter: x`}, {"y", `Filter: xy`},
		{"BSpace", `Filter: x_`}, {"Enter", `filter "x"`},
		{"Escape", `Processes by growth, reversed, (\d+ to \d+ of )?\d+ ─`},
		{"1", `▸ 1 Accounts`}, {"z", `▸ 1 Accounts ─{78}`}, {"z", `Verdict ─`},
		{"+", `Accounts, 0:\d+\.\d to`}, {"=", `Accounts, 0:\d+\.\d to`}, {"Left", `Accounts, 0:`},
		{"Right", `Accounts, 0:`}, {"-", `Accounts`}, {"Home", `Accounts`}, {"0", `Accounts ─`}, {"End", `Accounts ─`},
		{"M", `nothing is marked`}, {"m", `mark 1 at`}, {"M", `compared with mark 1`}, {"M", `Accounts ─`},
		{"d", `no second device`}, {"]", `speed is for playbacks`}, {"[", `speed is for playbacks`},
		{">", `speed is for playbacks`}, {"<", `speed is for playbacks`},
		{"c", `does not offer to collect`}, {"p", `does not offer to purge`}, {"t", `does not offer to trim`},
		{"r", `does not offer its sites`},
		{"7", `(?s)▸ 7 Output.*tick`}, {"PageUp", `▸ 7 Output`}, {"PageDown", `▸ 7 Output`},
		{"g", `▸ 7 Output`}, {"G", `▸ 7 Output`}, {"8", `▸ 8 This tool`}, {"5", `▸ 5 Pool`},
		{"4", `▸ 4 Sites`}, {"2", `▸ 2 Verdict`},
		{"6", `▸ 6 Events`},
		// Alone on the screen it shows more than the newest few.
		{"z", `(?s)▸ 6 Events.*mark 1`}, {"z", `Accounts ─`}, {"s", `screen saved: r/screen-`},
		{"w", `report written: r/report.html`},
		{"Space", `screen paused`}, {"Space", `recording · 0`}, {"q", `still runs.*e end it`}, {"Escape", `help`},
		{"C-c", `still runs`}, {"e", `Report: r`},
	}
	for _, s := range steps {
		term.keys(s.key)
		term.sees("after "+s.key, s.want)
	}
	term.shellIsSane("after the end")
	snapshots, err := filepath.Glob(filepath.Join(term.dir, "r", "screen-*.txt"))
	if err != nil || len(snapshots) != 1 {
		t.Fatalf("snapshots %v, %v", snapshots, err)
	}
	if text, err := os.ReadFile(snapshots[0]); err != nil || !strings.Contains(string(text), "Events") ||
		strings.Contains(string(text), "\x1b") {
		t.Errorf("the snapshot holds %q, %v", text, err)
	}
	run, err := record.Open(filepath.Join(term.dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(run.Events, func(e record.Event) bool { return e.Name == "mark 1" }) {
		t.Errorf("the mark is not in the run: %+v", run.Events)
	}
}

func TestExperimentsAreMadeFromTheScreen(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 120, 40)
	term.typed(binary + " run --out r nqueens --fault no-autorelease-pool --attempts 200")
	term.sees("the program, which purges between its steps", `recording.* step \d`)
	term.keys("p")
	term.sees("the receipt", `receipt: purge: claimed`)
	term.keys("6")
	term.sees("the receipt among the events", `receipt purge: claimed`)
	term.keys("q", "e")
	term.sees("the end", `[Rr]eport: r`)
}

func TestTheScreenFollowsTheSizeOfItsTerminal(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 120, 40)
	term.typed(binary + " run --tui --out r" + sleeper)
	term.sees("recording", `recording`)
	for _, size := range [][2]int{{60, 20}, {200, 60}, {30, 8}, {300, 100}, {80, 24}} {
		w, h := size[0], size[1]
		term.tmux("resize-window", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h))
		rule := `(?m)^.*[─━]{5,}.*$`
		if w >= 60 {
			rule = fmt.Sprintf(`(?m)^(── |━▸ )[^\n]*─{%d,}`, 10)
		}
		picture := term.sees(fmt.Sprint("at ", size), rule)
		if lines := strings.Split(strings.TrimRight(picture, "\n"), "\n"); len(lines) > h {
			t.Errorf("at %v: %d lines", size, len(lines))
		}
		term.sees(fmt.Sprint("header and footer at ", size), `(?s)^gpumem .*\? help`)
	}
	term.keys("q", "e")
	term.sees("the end", `[Rr]eport: r`)
	term.shellIsSane("after the end")
}

// traced waits until the run folder knows the traced program.
func (term *terminal) traced() int {
	term.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if run, err := record.Open(filepath.Join(term.dir, "r")); err == nil && run.Meta.PID != 0 {
			return run.Meta.PID
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("the run has no PID after %s:\n%s", patience, term.picture())
		}
	}
}

func TestTheTerminalIsGivenBackWhenTheProgramIsKilled(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 100, 30)
	term.typed(binary + " run --tui --out r" + sleeper + "; echo code $?")
	term.sees("recording", `recording`)
	if err := syscall.Kill(term.traced(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	term.sees("the end", `code 137`)
	term.shellIsSane("after SIGKILL of the program")
}

func TestTheScreenIsStoppedAndGoesOn(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 100, 30)
	term.typed("set -m; " + binary + " run --tui --out r" + sleeper)
	term.sees("recording", `recording`)
	pid := strings.TrimSpace(term.tmux("list-panes", "-F", "#{pane_pid}"))
	screen := childOf(t, pid)
	for _, stop := range []struct {
		what string
		do   func()
	}{
		{"by the key", func() { term.keys("C-z") }},
		{"by a signal", func() { syscall.Kill(screen, syscall.SIGTSTP) }},
		{"by the key again", func() { term.keys("C-z") }},
	} {
		stop.do()
		term.shellIsSane("stopped " + stop.what)
		term.typed("clear; fg")
		term.sees("again after a stop "+stop.what, `(?s)gpumem .*recording.*\? help`)
	}
	// Nobody can take SIGSTOP, so the other screen and its raw keys stay for the
	// shell; going on draws the screen anew.
	syscall.Kill(screen, syscall.SIGSTOP)
	for deadline := time.Now().Add(patience); strings.TrimSpace(term.tmux("display-message", "-p",
		"#{pane_current_command}")) != "sh"; {
		if time.Now().After(deadline) {
			t.Fatalf("SIGSTOP did not stop it within %s", patience)
		}
		time.Sleep(20 * time.Millisecond)
	}
	term.tmux("send-keys", "-l", "fg")
	term.keys("C-j")
	term.sees("again after SIGSTOP", `(?s)gpumem .*recording.*\? help`)
	term.keys("q")
	term.sees("keys work", `still runs`)
	term.keys("e")
	term.sees("the end", `[Rr]eport: r`)
	term.shellIsSane("after the end")
}

// childOf is the only child of a process.
func childOf(t *testing.T, pid string) int {
	t.Helper()
	out, err := exec.Command("ps", "-o", "pid=", "--ppid", pid).Output()
	if err != nil {
		t.Skipf("ps does not list children here: %v", err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatalf("children of %s: %q", pid, out)
	}
	return child
}

func TestQuittingLeavesTheProgramRunning(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 120, 40)
	term.typed(binary + " run --tui --out r" + sleeper + "; echo code $?")
	term.sees("recording", `recording`)
	pid := term.traced()
	term.keys("q", "l")
	term.sees("the end", `code 0`)
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the program that was left is gone: %v", err)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	term.shellIsSane("after leaving")
}

func TestTheScreenClosesAndTheRecordingGoesOn(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 120, 40)
	term.typed(binary + " run --tui --out r -- sh -c 'sleep 4'; echo code $?")
	term.sees("recording", `recording`)
	term.keys("q", "d")
	term.sees("the progress line", `gpumem: sh .*samples`)
	term.sees("the end", `code 0`)
}

func TestAnotherGpumemFollowsARunAndPlaysItBack(t *testing.T) {
	t.Parallel()
	first, second := newTerminal(t, 100, 30), newTerminal(t, 100, 30)
	first.typed(binary + " run --tui --out r" + sleeper)
	first.sees("recording", `recording`)
	first.traced()
	second.typed(binary + " watch " + filepath.Join(first.dir, "r"))
	second.sees("followed", `● recording`)
	first.keys("q", "e")
	first.sees("the end", `[Rr]eport: r`)
	second.sees("the end, from the folder", `ended by SIGINT|ended, exit code`)
	second.keys("q")
	second.shellIsSane("after watching")
	second.typed("clear; " + binary + " watch --speed 0.1 " + filepath.Join(first.dir, "r"))
	second.sees("played", `▶ playing · ×0.1`)
	for _, s := range []struct{ key, want string }{
		{"Space", `held`}, {"]", `held`}, {"Space", `×0.20`}, {"[", `×0.10`}, {"End", `ended`},
		{"Home", `playing`}, {"End", `ended`},
	} {
		second.keys(s.key)
		second.sees("after "+s.key, s.want)
	}
	second.keys("q")
	second.shellIsSane("after playing")
}

func TestWatchShowsChosenProcesses(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 100, 30)
	sleep := exec.Command("sleep", "600")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()
	term.typed(fmt.Sprintf("%s watch --gpu none --interval 100ms %d %d", binary, os.Getpid(), sleep.Process.Pid))
	term.sees("both", fmt.Sprintf(`(?s)%d +sleep`, sleep.Process.Pid))
	sleep.Process.Kill()
	sleep.Wait()
	term.sees("its end", `\(ended\) sleep`)
	term.keys("q")
	term.shellIsSane("after watching")
	term.typed("clear; " + binary + " watch 999999999; echo code $?")
	term.sees("no such process", `code 1`)
}

func TestAProgramThatAsksIsToldHowToGetAnAnswer(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 100, 30)
	term.typed(binary + ` run --tui --out r -- sh -c 'sleep 4; read answer || echo "EOF when reading a line" >&2; exit 3'; echo code $?`)
	term.sees("recording", `recording`)
	term.keys("7")
	term.sees("its empty stdin, in the panel of its output", "its stdin is empty")
	term.sees("its end", "code 3")
	if log, err := os.ReadFile(filepath.Join(term.dir, "r", record.FileStderr)); err != nil ||
		!strings.Contains(string(log), "EOF") {
		t.Errorf("the program got something to read: %q, %v", log, err)
	}
	// The text is longer than the terminal: into a file.
	term.typed(`clear; ` + binary + ` run --tui --out r2 -o a -- sh -c 'sleep 1; read answer || echo "EOF when reading a line" >&2; exit 3'; echo code $?`)
	term.sees("what to do", `(?s)if it asks for something, run it without --tui.*code 3`)
}

func TestWithoutATerminalThereIsNoScreen(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 100, 30)
	term.typed(binary + " run -q -o a --out r -- echo through | cat; echo done")
	term.sees("the program's own output", `(?s)through\n.*done`)
	term.typed("clear; " + binary + " run -o a2 --no-tui --out r2 -- sh -c 'echo to the terminal; sleep 1'; echo done")
	term.sees("untouched output", `(?s)to the terminal\n.*done`)
	term.tmux("resize-window", "-x", "30", "-y", "30")
	term.typed("clear; " + binary + " attach --no-tui -o a4 --out r4 --for 2s $(sleep 9 >&- & echo $!); " +
		"clear; echo its end")
	term.sees("the progress line", `gpumem: sleep  1\.\d`)
	if lines := strings.Count(term.picture(), "gpumem: sleep "); lines > 1 {
		t.Errorf("the progress line wraps: it is there %d times", lines)
	}
	term.sees("its end", `(?m)^its end`)
	term.tmux("resize-window", "-x", "100", "-y", "30")
	term.typed("clear; TERM=dumb " + binary + " run -o a3 --out r3 -- echo dumb; echo done")
	term.sees("a terminal that cannot", `(?s)dumb\n.*done`)
	for _, r := range []string{"r", "r2", "r3"} {
		if _, err := os.Stat(filepath.Join(term.dir, r, record.FileStdout)); err == nil {
			t.Errorf("%s: the output was captured without a screen", r)
		}
	}
	if got := gpumem(t, term.dir, "watch"); got.code != 1 || !strings.Contains(got.stderr, "needs a terminal") ||
		strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("watch without a terminal: %d %q", got.code, got.stderr)
	}
}

func TestNoCommandAsksTheTerminalForItsColours(t *testing.T) {
	t.Parallel()
	term := newTerminal(t, 100, 30, "TERM=xterm-256color")
	typescript := filepath.Join(term.dir, "typescript")
	// tmux answers queries itself; what went to it is in its log of the pane.
	term.tmux("pipe-pane", "cat > "+typescript)
	// Where the tests run, CI may be set for all.
	term.typed(`export CI=; TERM=xterm-256color ` + binary + ` version; echo "CI is <$CI>" all-of-it`)
	term.sees("the version", `(?s)gpumem .* go1.*CI is`)
	var text []byte
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		text, _ = os.ReadFile(typescript)
		if strings.Contains(string(text), "<> all-of-it") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the pane's log ends early: %q", text)
		}
	}
	for _, query := range []string{"\x1b]11;?", "\x1b]10;?", "\x1b[6n", "\x1b[c"} {
		if strings.Contains(string(text), query) {
			t.Errorf("gpumem version wrote the query %q", query)
		}
	}
}

func TestAProgramSeesTheEnvironmentAsItIs(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"CI=yes", "CI="} {
		got := gpumemEnv(t, t.TempDir(), []string{env}, "run", "-q", "--inject", "none", "--out", "r", "--", "sh",
			"-c", `echo "<$CI>"`)
		if want := "<" + strings.TrimPrefix(env, "CI=") + ">\n"; got.stdout != want {
			t.Errorf("%s: the program sees %q, want %q", env, got.stdout, want)
		}
	}
}
