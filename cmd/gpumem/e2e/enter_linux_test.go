package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// asked is a program that says on SIGUSR1 what an agent might have left in it, and
// does what its first argument names meanwhile.
const asked = `
import ctypes, json, os, signal, sys, threading, time
def tell(*_):
    print(json.dumps({
        "modules": [m for m in sys.modules if "gpumem" in m],
        "finders": len(sys.meta_path),
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
        "wrapped": ctypes.CDLL.__getitem__.__code__.co_filename != ctypes.__file__,
        "sockets": sum("socket" in os.readlink("/proc/self/fd/" + f) for f in os.listdir("/proc/self/fd")
                       if os.path.islink("/proc/self/fd/" + f)),
    }), flush=True)
signal.signal(signal.SIGUSR1, tell)
keep = []
print("ready", flush=True)
while True:
    keep.extend(bytearray(1000) for _ in range(100))
    if len(keep) > 5000 and "grow" not in sys.argv: del keep[:]
    if "fork" in sys.argv and len(keep) % 1000 == 0:
        pid = os.fork()
        if pid == 0:
            time.sleep(.5)
            os._exit(0)
    while "fork" in sys.argv:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0: break
        except ChildProcessError: break
    time.sleep(.01)
`

// guest is a program with what it says.
type guest struct {
	*exec.Cmd
	out *bufio.Reader
}

// startGuest starts the program by a command before the script's path.
func startGuest(t *testing.T, command []string, args ...string) *guest {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := filepath.Join(t.TempDir(), "asked.py")
	if err := os.WriteFile(path, []byte(asked), 0o600); err != nil {
		t.Fatal(err)
	}
	command = append(append(command, path), args...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	return guestOf(t, cmd)
}

// guestOf starts a program that says when it is ready, for the rest of the test.
func guestOf(t *testing.T, cmd *exec.Cmd) *guest {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		_ = cmd.Wait()
	})
	g := &guest{cmd, bufio.NewReader(out)}
	if line := g.line(t); line != "ready" {
		t.Fatalf("the program said %q", line)
	}
	return g
}

// line is the next line of the program. One that says nothing more is ended: the whole
// suite would wait for it.
func (g *guest) line(t *testing.T) string {
	t.Helper()
	silent := time.AfterFunc(patience, func() { g.Process.Kill() })
	defer silent.Stop()
	line, err := g.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the program said %q: %v", line, err)
	}
	return strings.TrimSpace(line)
}

// state is what the program says of itself.
type guestState struct {
	Modules                          []string
	Finders, Threads, Files, Sockets int
	Wrapped                          bool
}

func (g *guest) state(t *testing.T) (s guestState) {
	t.Helper()
	if err := g.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(g.line(t)), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// isClean waits until nothing of an agent is in the program but what was there before.
func (g *guest) isClean(t *testing.T, before guestState) {
	t.Helper()
	g.isCleanBut(t, before, 0)
}

// aDescriptor is what libraries of Python may keep at their first use.
const aDescriptor = 1

// isCleanBut waits as isClean does, but some descriptors may stay. It returns the state
// that stays.
func (g *guest) isCleanBut(t *testing.T, before guestState, descriptors int) guestState {
	t.Helper()
	var now guestState
	for range 100 {
		now = g.state(t)
		want := before
		want.Files = min(max(now.Files, before.Files), before.Files+descriptors)
		if fmt.Sprint(now) == fmt.Sprint(want) {
			return now
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("the program has %+v, and had %+v before", now, before)
	return now
}

// joined begins to attach, and returns when the agent is in.
func joined(t *testing.T, g *guest, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	args = append([]string{"attach", pidOf(g.Cmd), "-q", "--out", "run"}, args...)
	cmd := exec.Command(binary, args...)
	text := &bytes.Buffer{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, text, text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		b, err := os.ReadFile(filepath.Join(dir, "run", record.FileEvents))
		if err == nil && bytes.Contains(b, []byte(`"entered"`)) {
			return cmd, text
		}
		time.Sleep(50 * time.Millisecond)
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	t.Fatalf("the agent did not come in\n%s", text)
	return nil, nil
}

// joinedFor attaches to a guest for a time, and returns what gpumem says.
func joinedFor(t *testing.T, g *guest, dir, length string) string {
	t.Helper()
	cmd, text := joined(t, g, dir, "--for", length)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return text.String()
}

func TestAttachNamesWhatHoldsTheMemoryAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"}, "grow")
	before := g.state(t)
	for range 2 { // a second attach finds what the first found
		var text *bytes.Buffer
		_, v := answered(t, hasNoHolder, func(dir string) {
			var cmd *exec.Cmd
			cmd, text = joined(t, g, dir, "--for", "9s")
			if during := g.state(t); len(during.Modules) == 0 || during.Threads == before.Threads {
				t.Errorf("while attached the program has %+v", during)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
		})
		if len(v.Holders) == 0 || !strings.Contains(v.Holders[0].Path, "asked.keep") {
			t.Errorf("holders %+v, want asked.keep\n%s", v.Holders, text)
		}
		if strings.Contains(text.String(), "warning") {
			t.Errorf("it warns:\n%s", text)
		}
		before = g.isCleanBut(t, before, aDescriptor)
	}
}

func TestAnAgentWhoseTracerIsKilledLeavesByItself(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"})
	before := g.state(t)
	cmd, _ := joined(t, g, t.TempDir())
	cmd.Process.Kill()
	cmd.Wait()
	g.isClean(t, before)
	cmd, text := joined(t, g, t.TempDir())
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	g.isClean(t, before)
}

func TestOfTwoThatAttachTheSecondIsTold(t *testing.T) {
	t.Parallel()
	const told = "looking from outside only: gpumem is in it already"
	g := startGuest(t, []string{"python3"})
	before := g.state(t)
	cmd, text := joined(t, g, t.TempDir())
	if second := gpumem(t, t.TempDir(), "attach", pidOf(g.Cmd), "-q", "--for", "2s"); second.code != 0 ||
		!strings.Contains(second.stderr, told) {
		t.Errorf("the second: code %d\n%s", second.code, second.stderr)
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil || strings.Contains(text.String(), "warning") {
		t.Errorf("the first: %v\n%s", err, text)
	}
	g.isClean(t, before)

	dir := t.TempDir()
	run := exec.Command(binary, "run", "-q", "--out", "run", "--", "python3", "-c",
		"import time; time.sleep(20)")
	run.Dir = dir
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer run.Wait()
	defer run.Process.Signal(os.Interrupt)
	time.Sleep(2 * time.Second)
	child, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", run.Process.Pid, run.Process.Pid))
	if pids := strings.Fields(string(child)); err == nil && len(pids) == 1 {
		under := gpumem(t, t.TempDir(), "attach", pids[0], "-q", "--for", "7s")
		if under.code != 0 || !strings.Contains(under.stderr, "not come back to Python since") {
			t.Errorf("a program that sleeps: code %d\n%s", under.code, under.stderr)
		}
	}
}

func TestForkedChildrenOfAnEnteredProgramSpeakForThemselves(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"}, "fork")
	dir := t.TempDir()
	cmd, text := joined(t, g, dir, "--for", "5s")
	if err := cmd.Wait(); err != nil || strings.Contains(text.String(), "warning") {
		t.Errorf("%v\n%s", err, text)
	}
	b, err := os.ReadFile(filepath.Join(dir, "run", record.FileSamples))
	if err != nil {
		t.Fatal(err)
	}
	header, rest, _ := strings.Cut(string(b), "\n")
	columns := strings.Split(header, ",")
	pid, heap := -1, -1
	for i, name := range columns {
		switch name {
		case record.ColPID:
			pid = i
		case record.ColHostHeap:
			heap = i
		}
	}
	told := map[string]bool{}
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		if pid >= 0 && heap >= 0 && len(cells) > max(pid, heap) && cells[heap] != "" {
			told[cells[pid]] = true
		}
	}
	if len(told) < 1 {
		t.Errorf("nobody told the host heap; columns %s", header)
	}
	time.Sleep(time.Second)
	if s := g.state(t); len(s.Modules) != 0 {
		t.Errorf("there stays %v", s.Modules)
	}
}

func TestInjectNoneLeavesTheProgramAlone(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"})
	before := g.state(t)
	cmd := exec.Command(binary, "attach", pidOf(g.Cmd), "-q", "--for", "3s", "--inject", "none")
	cmd.Dir = t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if now := g.state(t); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("the program has %+v, and had %+v before", now, before)
		}
		time.Sleep(200 * time.Millisecond)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAProgramInAnotherMountNamespaceIsEntered(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make a mount namespace and enter it")
	}
	if err := exec.Command("unshare", "-m", "true").Run(); err != nil {
		t.Skipf("this machine makes no mount namespace: %v", err)
	}
	executable, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	python := strings.TrimSpace(string(executable))
	g := startGuest(t, []string{"unshare", "-m", "sh", "-c",
		`cp "$1" /dev/shm/asked-$$.py && mount -t tmpfs none /tmp && cd / && exec "$0" /dev/shm/asked-$$.py grow`,
		python})
	defer exec.Command("sh", "-c", "rm -f /dev/shm/asked-"+pidOf(g.Cmd)+".py").Run()
	cmd, text := joined(t, g, t.TempDir())
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil || strings.Contains(text.String(), "warning") {
		t.Errorf("%v\n%s", err, text)
	}
	left, _ := filepath.Glob(fmt.Sprintf("/proc/%d/root/tmp/*", g.Process.Pid))
	if len(left) > 0 {
		t.Errorf("there stays %v", left)
	}
}

func TestAnotherUsersProgramIsEnteredByRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may enter another user's program")
	}
	g := startGuest(t, []string{"sh", "-c", `cd / && exec setpriv --reuid=65534 --regid=65534 \
		--clear-groups /usr/bin/python3 -c "$(cat "$0")"`}) // nobody may read the script
	before := g.state(t)
	cmd, text := joined(t, g, t.TempDir())
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil || strings.Contains(text.String(), "warning") {
		t.Errorf("%v\n%s", err, text)
	}
	g.isClean(t, before)
}

// trainer is a PyTorch program that keeps an output of each step.
const trainer = `
import time, torch
net = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters(), lr=.01)
history, losses = [], []
def train():
    loss = net(torch.randn(256, 64)).pow(2).mean()
    losses.append(loss)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
train()
print("ready", flush=True)
while True:
    train()
    history.append(torch.zeros(50_000))
    time.sleep(.01)
`

func TestAttachNamesWhatHoldsTheTensorsOfAPyTorchProgram(t *testing.T) {
	t.Parallel()
	python := os.Getenv("GPUMEM_TEST_TORCH")
	if python == "" {
		python = "/usr/bin/python3"
	}
	if err := exec.Command(python, "-c", "import torch").Run(); err != nil {
		t.Skip("no python3 with PyTorch here; GPUMEM_TEST_TORCH names one")
	}
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := filepath.Join(t.TempDir(), "trainer.py")
	if err := os.WriteFile(path, []byte(trainer), 0o600); err != nil {
		t.Fatal(err)
	}
	program := exec.Command(python, path)
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		program.Process.Kill()
		_ = program.Wait()
	})
	g := &guest{program, bufio.NewReader(out)}
	if line := g.line(t); line != "ready" {
		t.Fatalf("the program said %q", line)
	}
	var text string
	_, v := answered(t, hasNoHolder, func(dir string) { text = joinedFor(t, g, dir, "9s") })
	if len(v.Holders) == 0 || v.Holders[0].Path != "list trainer.history" {
		t.Errorf("holders %+v, want trainer.history\n%s", v.Holders, text)
	}
	for _, h := range v.Holders {
		if h.Graphs != (h.Path == "list trainer.losses") {
			t.Errorf("%+v has graphs, or none", h)
		}
	}
	if !slices.ContainsFunc(v.Holders, func(h record.Holder) bool { return h.Graphs }) {
		t.Errorf("holders %+v, want trainer.losses", v.Holders)
	}
}

func TestAProgramThatEndsWhileAttachedEndsAsItWould(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"})
	cmd, text := joined(t, g, t.TempDir())
	g.Process.Signal(syscall.SIGINT)
	ended := make(chan error, 1)
	go func() { ended <- g.Wait() }()
	select {
	case err := <-ended:
		status, ok := err.(*exec.ExitError)
		if !ok || status.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
			t.Errorf("the program ended by %v", err)
		}
	case <-time.After(patience):
		g.Process.Kill()
		<-ended
		t.Error("the program did not end")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
