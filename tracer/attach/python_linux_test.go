//go:build amd64

package attach_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/attach"
)

// enterTarget, as a variable of the environment, has the test binary try to enter the
// process of that number and print what came of it: as another user, that is.
const enterTarget = "GPUMEM_TEST_ENTER"

func TestMain(m *testing.M) {
	var pid int
	if _, err := fmt.Sscan(os.Getenv(enterTarget), &pid); err == nil {
		_, err := attach.Python(pid, "pass", nil)
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pythons is the folder with builds of CPython that scripts/test.sh fetches, one folder
// a version.
func pythons() string { return os.Getenv("GPUMEM_TEST_PYTHONS") }

// interpreters are the Pythons of this machine, 3.8 and later: the one on PATH, the
// system's (static, and its debug build), those that pyenv keeps, and those fetched for
// the tests.
func interpreters(t testing.TB) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	candidates, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv/versions/3.*/bin/python3"))
	if path, err := exec.LookPath("python3"); err == nil {
		candidates = append(candidates, path)
	}
	fetched, _ := filepath.Glob(filepath.Join(pythons(), "3.*/bin/python3.?*"))
	candidates = append(append(candidates, "/usr/bin/python3", "/usr/bin/python3-dbg"), fetched...)
	var found []string
	for _, path := range candidates {
		if strings.HasSuffix(path, "-config") {
			continue
		}
		out, err := exec.Command(path, "-c",
			"import os,sys\nif sys.version_info >= (3,8): print(os.path.realpath('/proc/self/exe'))").Output()
		if exe := strings.TrimSpace(string(out)); err == nil && exe != "" && !slices.Contains(found, exe) {
			found = append(found, exe)
		}
	}
	if len(found) == 0 {
		t.Fatal("no python3 of 3.8 or later, and this package enters real ones")
	}
	return found
}

func interpreter(t testing.TB) string { return interpreters(t)[0] }

// mark is a text that counts itself in the interpreter, without leaving a name.
const mark = `__builtins__.exec("import sys\nsys.marks = getattr(sys, 'marks', 0) + 1", {})`

// answered is a text whose run the program tells on its stdout.
const answered = `__builtins__.exec("import os\nos.write(1, b'ran\\n')", {})`

// program is a Python program that runs.
type program struct {
	*exec.Cmd
	out *bufio.Reader
}

// start runs a script, or a program by its command, and waits for its first line.
func start(t testing.TB, python, script string, command ...string) *program {
	t.Helper()
	cmd := exec.Command(python, "-u", "-c", script)
	if len(command) > 0 {
		cmd = exec.Command(python, command...)
	}
	cmd.Stderr = os.Stderr
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
	p := &program{cmd, bufio.NewReader(out)}
	if line := p.line(t); line != "ready" {
		t.Fatalf("the script said %q", line)
	}
	return p
}

func (p *program) line(t testing.TB) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Errorf("the program said %q: %v", line, err)
	}
	return strings.TrimSpace(line)
}

func enter(t testing.TB, p *program, text string) *attach.Entry {
	t.Helper()
	entry, err := attach.Python(p.Process.Pid, text, nil)
	if err != nil {
		t.Fatalf("enter process %d: %v", p.Process.Pid, err)
	}
	return entry
}

// computing prints a number that depends on each step before, and how often it was
// marked.
const computing = `
import sys, time
print("ready")
x, n, end = 1.0, 0, time.time() + %g
while time.time() < end or not getattr(sys, "marks", 0) and n < 10**8:
    y = 1.0
    for i in range(2000):
        y = (y * 1.000001 + i) / 1.0000007
    assert x == 1.0 or x == y, (x, y)
    x = y
    n += 1
print(sys.marks, x.hex())
`

func TestATextRunsInEveryInterpreterOnceAndTheProgramComputesOn(t *testing.T) {
	t.Parallel()
	for _, python := range interpreters(t) {
		t.Run(python, func(t *testing.T) {
			p := start(t, python, fmt.Sprintf(computing, 0.5))
			entry := enter(t, p, mark)
			if entry.Stopped <= 0 || entry.Inside == "" {
				t.Errorf("stood still for %v, inside %q", entry.Stopped, entry.Inside)
			}
			line := p.line(t)
			if err := entry.Free(); err != nil {
				t.Error(err)
			}
			if !strings.HasPrefix(line, "1 0x") {
				t.Errorf("it said %q, want one mark", line)
			}
			if err := p.Wait(); err != nil {
				t.Errorf("it ended by %v", err)
			}
		})
	}
}

// targets are programs in states that are not plain computing. Each says "done" and
// how often it was marked.
var targets = map[string]string{
	"sleeping": `
import sys, time
print("ready")
t = time.monotonic(); time.sleep(.7); t = time.monotonic() - t
assert .69 < t < 5, t
print("done", sys.marks)`,
	"holding the lock in C": `
import ctypes, sys
print("ready")
ctypes.PyDLL(None).usleep(700000)
print("done", sys.marks)`,
	"waiting for a lock": `
import sys, threading, time
lock = threading.Lock(); lock.acquire()
threading.Timer(.7, lock.release).start()
print("ready")
lock.acquire()
print("done", sys.marks)`,
	"with threads that compute": `
import sys, threading, time
over = False
def work():
    n = 0
    while not over: n += 1
for _ in range(4): threading.Thread(target=work).start()
print("ready")
time.sleep(.7)
over = True
print("done", sys.marks)`,
	"in an event loop": `
import asyncio, sys
async def main():
    print("ready")
    for _ in range(70): await asyncio.sleep(.01)
asyncio.run(main())
print("done", sys.marks)`,
	"reading a pipe": `
import os, sys, threading
r, w = os.pipe()
threading.Timer(.7, os.write, (w, b"x")).start()
print("ready")
assert os.read(r, 1) == b"x"
print("done", sys.marks)`,
	"taking signals": `
import signal, sys, time
n = 0
def tick(*_):
    global n; n += 1
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, .0005, .0005)
print("ready")
end = time.time() + .7
while time.time() < end: pass
signal.setitimer(signal.ITIMER_REAL, 0)
assert n > 10, n
print("done", sys.marks)`,
	"with a handler of faults": `
import faulthandler, sys, time
faulthandler.enable()
print("ready")
end = time.time() + .7
while time.time() < end: pass
print("done", sys.marks)`,
	"forking": `
import os, sys, time
print("ready")
end = time.time() + .7
while time.time() < end:
    pid = os.fork()
    if pid == 0: os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
print("done", sys.marks)`,
	"starting programs": `
import subprocess, sys, time
print("ready")
end = time.time() + .7
while time.time() < end: subprocess.run(["true"], check=True)
print("done", sys.marks)`,
	"with an exec of its own": `
import sys, time
def exec(*_): raise SystemExit(9)
print("ready")
time.sleep(.3); time.sleep(.4)
print("done", sys.marks)`,
	"with a recursion at its limit": `
import sys, time
print("ready")
def down(n):
    if n: return down(n - 1)
    time.sleep(.5)
down(700)
print("done", sys.marks)`,
	"in a subinterpreter": `
import sys, time
try: import _xxsubinterpreters as sub
except ImportError:
    try: import _interpreters as sub
    except ImportError: sub = None
print("ready")
if sub:
    i = sub.create()
    (getattr(sub, "run_string", None) or sub.exec)(i, "import time\ntime.sleep(.7)")
else: time.sleep(.7)
for _ in range(10): pass
print("done", getattr(sys, "marks", 0))`,
}

func TestProgramsInEveryStateAreEnteredAndRunOn(t *testing.T) {
	t.Parallel()
	python := interpreter(t)
	for name, script := range targets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, python, script)
			time.Sleep(100 * time.Millisecond) // so that it is where it will wait
			entry := enter(t, p, mark)
			line := p.line(t)
			if !strings.HasPrefix(line, "done 1") && !strings.HasPrefix(name, "in a sub") {
				t.Errorf("it said %q", line)
			}
			if err := entry.Free(); err != nil {
				t.Error(err)
			}
			if err := p.Wait(); err != nil {
				t.Errorf("it ended by %v", err)
			}
		})
	}
}

func TestAProgramThatEndsOrExecsMeanwhileIsNotHarmed(t *testing.T) {
	t.Parallel()
	python := interpreter(t)
	for i := range 20 {
		script := "import os\nprint('ready')\nfor i in range(%d): pass\n"
		if i%2 == 1 {
			script += "os.execvp('sh', ['sh', '-c', 'echo then'])"
		} else {
			script += "print('then')"
		}
		p := start(t, python, fmt.Sprintf(script, i*4000))
		_, err := attach.Python(p.Process.Pid, mark, nil)
		var refusal *attach.Refusal
		if err != nil && !errors.As(err, &refusal) && !errors.Is(err, attach.ErrNoPython) {
			t.Errorf("error %v", err)
		}
		if line := p.line(t); line != "then" {
			t.Errorf("it said %q", line)
		}
		if err := p.Wait(); err != nil {
			t.Errorf("it ended by %v", err)
		}
	}
}

// The registers of vectors are the caller's to save: a call in the midst of a loop
// that is full of them must not change one.
func TestVectorRegistersGoBackInTheMidstOfALoop(t *testing.T) {
	t.Parallel()
	python := interpreter(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "loop.c")
	const loop = `
double loop(long n) {
	double a[16];
	for (int i = 0; i < 16; i++) a[i] = i + 1;
	for (long k = 0; k < n; k++)
		for (int i = 0; i < 16; i++) a[i] = a[i] * 1.0000000001 + 1e-9;
	double s = 0;
	for (int i = 0; i < 16; i++) s += a[i];
	return s;
}`
	if err := os.WriteFile(source, []byte(loop), 0o600); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, "loop.so")
	if out, err := exec.Command("cc", "-O3", "-shared", "-fPIC", "-o", library, source).
		CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	p := start(t, python, fmt.Sprintf(`
import ctypes
loop = ctypes.CDLL(%q).loop
loop.restype, loop.argtypes = ctypes.c_double, [ctypes.c_long]
want = loop(100000000).hex()
print("ready")
for _ in range(8): print(loop(100000000).hex() == want)
print("done")`, library))
	over := make(chan struct{})
	go func() {
		defer close(over)
		for line := ""; line != "done"; {
			if line = p.line(t); line != "True" && line != "done" {
				t.Errorf("the loop computed something else: %q", line)
				return
			}
		}
	}()
	times := 0
	for {
		select {
		case <-over:
			t.Logf("entered %d times", times)
			if times < 10 {
				t.Error("too few to tell")
			}
			return
		default:
		}
		entry, err := attach.Python(p.Process.Pid, mark, nil)
		if err != nil {
			continue // its queue of calls is full, or it has ended
		}
		times++
		_ = entry // the text waits for the loop's end: its memory must stay
	}
}

// stops enters a program so often and returns how long it stood still each time.
func stops(t testing.TB, count int) []time.Duration {
	p := start(t, interpreter(t), "import time\nprint('ready')\nwhile True:\n for i in range(1000): pass")
	var all []time.Duration
	for range count {
		entry := enter(t, p, answered)
		all = append(all, entry.Stopped)
		p.line(t)
		if err := entry.Free(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}

// BenchmarkStop prints how long a program stands still when it is entered.
func BenchmarkStop(b *testing.B) {
	all := stops(b, 300)
	at := func(q float64) float64 {
		return float64(all[int(q*float64(len(all)-1))]) / float64(time.Millisecond)
	}
	b.ReportMetric(at(.5), "ms-median")
	b.ReportMetric(at(.9), "ms-p90")
	b.ReportMetric(at(.99), "ms-p99")
	b.ReportMetric(at(1), "ms-most")
	b.ReportMetric(0, "ns/op")
}

func TestNothingOfTheTextStaysInTheProgramsMemory(t *testing.T) {
	t.Parallel()
	p := start(t, interpreter(t), "import time\nprint('ready')\nwhile True: time.sleep(.001)")
	regions := func() int {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "\n")
	}
	text := answered + " #" + strings.Repeat("x", 300_000)
	free := func() {
		entry := enter(t, p, text)
		p.line(t)
		if err := entry.Free(); err != nil {
			t.Fatal(err)
		}
	}
	free() // the first text may have the interpreter map memory of its own
	before := regions()
	for range 20 {
		free()
	}
	if after := regions(); after > before+2 {
		t.Errorf("%d mappings, %d before", after, before)
	}
}

func TestRefusalsSayWhyAndWhatToTry(t *testing.T) {
	t.Parallel()
	python := interpreter(t)
	refusal := func(t *testing.T, pid int, want string) {
		t.Helper()
		_, err := attach.Python(pid, mark, nil)
		var r *attach.Refusal
		if !errors.As(err, &r) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q, want a refusal with %q", err, want)
		}
	}
	waiting := "import time\nprint('ready')\nwhile True: time.sleep(.01)"
	t.Run("ended", func(t *testing.T) {
		cmd := exec.Command("true")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		time.Sleep(200 * time.Millisecond)
		refusal(t, cmd.Process.Pid, "its main thread has ended")
	})
	t.Run("stopped", func(t *testing.T) {
		p := start(t, python, waiting)
		p.Process.Signal(syscall.SIGSTOP)
		time.Sleep(100 * time.Millisecond)
		refusal(t, p.Process.Pid, "kill -CONT")
	})
	t.Run("traced", func(t *testing.T) {
		p := start(t, python, waiting)
		traced(t, p, "strace", "-qq", "-o", "/dev/null", "-p", fmt.Sprint(p.Process.Pid))
		refusal(t, p.Process.Pid, "strace (process")
	})
	t.Run("no Python", func(t *testing.T) {
		cmd := exec.Command("sleep", "30")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		time.Sleep(100 * time.Millisecond)
		if _, err := attach.Python(cmd.Process.Pid, mark, nil); !errors.Is(err, attach.ErrNoPython) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		p := start(t, "env", "", "PYTHON_DISABLE_REMOTE_DEBUG=1", python, "-u", "-c", waiting)
		refusal(t, p.Process.Pid, "remote debugging turned off")
	})
	t.Run("old", func(t *testing.T) {
		old, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv/versions/[23].[67]*/bin/python"))
		if len(old) == 0 {
			t.Skip("this machine has no Python older than 3.8")
		}
		for _, python := range old {
			refusal(t, start(t, python, waiting).Process.Pid, "older than 3.8")
		}
	})
}
