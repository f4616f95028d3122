package tracer

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/tracer/record"
)

// relayed starts a tracer of a program that says which signals it hears, as one
// job of several of this session, and waits until it is ready.
func relayed(t *testing.T) (tracer *exec.Cmd, said *bufio.Reader, program func() int) {
	t.Helper()
	cmd, dir := tracerProcess(t, "relay hear")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	said = bufio.NewReader(pipe)
	expectLine(t, said, "ready")
	program = func() int {
		run, err := record.Open(dir)
		if err != nil {
			return 0
		}
		return run.Meta.PID
	}
	until(t, "the program is noted", func() bool { return program() != 0 })
	return cmd, said, program
}

func TestEverySignalThatMayComeFromOutsideReachesTheProgramOnce(t *testing.T) {
	t.Parallel()
	cmd, said, _ := relayed(t)
	list := []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
		syscall.SIGCONT, syscall.SIGWINCH,
	}
	for sig := syscall.Signal(35); sig <= 64; sig++ {
		list = append(list, sig)
	}
	for _, sig := range append(list, syscall.SIGTERM) {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		expectLine(t, said, fmt.Sprint(int(sig)))
	}
	if rest, _ := said.ReadString(0); rest != "" {
		t.Errorf("the program went on with %q", rest)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("the tracer ended with %d", code)
	}
}

func TestSignalsThatTheSystemSendsForTheTracersOwnDoingsAreNotPassedOn(t *testing.T) {
	t.Parallel()
	cmd, said, _ := relayed(t)
	for _, sig := range []syscall.Signal{syscall.SIGPIPE, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGXFSZ} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Process.Signal(syscall.SIGTERM)
	expectLine(t, said, "15")
	cmd.Wait()
}

func TestTheTracerStopsWithTheProgramAndContinuesIt(t *testing.T) {
	t.Parallel()
	cmd, said, program := relayed(t)
	pid := program()
	for range 3 {
		cmd.Process.Signal(syscall.SIGTSTP)
		until(t, "both are stopped", func() bool { return isStopped(pid) && isStopped(cmd.Process.Pid) })
		cmd.Process.Signal(syscall.SIGCONT)
		expectLine(t, said, "18")
		until(t, "both go on", func() bool { return !isStopped(pid) && !isStopped(cmd.Process.Pid) })
	}
	cmd.Process.Signal(syscall.SIGTERM)
	expectLine(t, said, "15")
	cmd.Wait()
}

// TestWhereNoShellContinuesUsAStopStopsNothing has the tracer lead a session:
// the kernel does not stop it, since no process could continue it.
func TestWhereNoShellContinuesUsAStopStopsNothing(t *testing.T) {
	t.Parallel()
	cmd, _ := tracerProcess(t, "relay hear")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(pipe)
	expectLine(t, said, "ready")
	cmd.Process.Signal(syscall.SIGTSTP)
	expectLine(t, said, "18") // it was stopped, and is continued
	cmd.Process.Signal(syscall.SIGTERM)
	expectLine(t, said, "15")
	cmd.Wait()
}

func TestAScriptWithoutAnInterpreterIsRunByTheShell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		code int
	}{
		"a script":         {"[ \"$1$0\" = \"x$PWD/program\" ] && exit 9\n", 9},
		"an empty one":     {"", 0},
		"a foreign binary": {"\x7fELF\x00\x00no program of this machine", codeNotExecutable},
	} {
		cfg := childConfig(t, "")
		cfg.Dir = filepath.Join(dir, name)
		path := filepath.Join(cfg.Dir, "program")
		cfg.Command = []string{path, "x"}
		if err := os.Mkdir(cfg.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := standin.WriteProgram(path, []byte(c.text), 0o700); err != nil {
			t.Fatal(err)
		}
		res, err := Run(t.Context(), cfg)
		if started := c.code != codeNotExecutable; res.ExitCode != c.code || (err == nil) != started {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

// TestAShellThatContinuesTheTracerWhileItIsAboutToStopIsHeeded has the
// continuation come in the last moment: the tracer must not stop after it, since
// nobody would continue it again.
func TestAShellThatContinuesTheTracerWhileItIsAboutToStopIsHeeded(t *testing.T) {
	t.Parallel()
	const says = "GPUMEM_TEST_STOP"
	if when := os.Getenv(says); when != "" {
		stopFor(when)
		return
	}
	for _, when := range []string{"never", "before", "seen"} {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), says+"="+when)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		if when == "never" {
			until(t, "it is stopped", func() bool { return isStopped(cmd.Process.Pid) })
			cmd.Process.Signal(syscall.SIGCONT)
		}
		time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		expectLine(t, bufio.NewReader(out), fmt.Sprint("went on, stopped: ", when != "seen"))
		cmd.Wait()
	}
}

// stopFor stops this process, which is continued never, by a signal while it
// looks, or by what it sees.
func stopFor(when string) {
	stopped := stopOurselves(unix.SIGTSTP, true, func() bool {
		if when == "before" {
			_ = unix.Kill(os.Getpid(), unix.SIGCONT)
		}
		return when == "seen"
	})
	fmt.Println("went on, stopped:", stopped)
}
