//go:build amd64

package attach_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/attach"
)

// modern is a CPython with an interface for debuggers, 3.14, and the folder it is in.
func modern(t testing.TB) (python, home string) {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for _, path := range interpreters(t) {
		if filepath.Base(path) == "python3.14" {
			return path, filepath.Dir(filepath.Dir(path))
		}
	}
	t.Skip("no CPython 3.14 here; scripts/test.sh fetches one into GPUMEM_TEST_PYTHONS")
	return "", ""
}

// putIn makes the scripts in a folder.
func putIn(t testing.TB) (dir string, put attach.Put) {
	dir = t.TempDir()
	count := 0
	return dir, func(text []byte) (string, func() error, error) {
		count++
		path := filepath.Join(dir, fmt.Sprintf("script%d.py", count))
		return path, func() error {
			if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		}, os.WriteFile(path, text, 0o600)
	}
}

// officially enters a program by the interface for debuggers.
func officially(t testing.TB, pid int, text string) *attach.Entry {
	t.Helper()
	_, put := putIn(t)
	entry, err := attach.Python(pid, text, put)
	if err != nil {
		t.Fatalf("enter process %d: %v", pid, err)
	}
	if !entry.Official || entry.Stopped != 0 {
		t.Errorf("official %v, stood still for %v", entry.Official, entry.Stopped)
	}
	return entry
}

func TestPython314IsAskedByItsOwnInterfaceAndNotStopped(t *testing.T) {
	t.Parallel()
	python, _ := modern(t)
	for name, script := range targets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, python, script)
			time.Sleep(100 * time.Millisecond) // so that it is where it will wait
			entry := officially(t, p.Process.Pid, mark)
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

func TestOlderPythonsAreEnteredByAStopAlsoWhereAFileCouldBePut(t *testing.T) {
	t.Parallel()
	for _, python := range interpreters(t) {
		t.Run(python, func(t *testing.T) {
			t.Parallel()
			p := start(t, python, fmt.Sprintf(computing, 0.5))
			dir, put := putIn(t)
			entry, err := attach.Python(p.Process.Pid, mark, put)
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Base(python) == "python3.14"; entry.Official != want {
				t.Errorf("official: %v, want %v", entry.Official, want)
			}
			if line := p.line(t); !strings.HasPrefix(line, "1 0x") {
				t.Errorf("it said %q, want one mark", line)
			}
			if err := entry.Free(); err != nil {
				t.Error(err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
				t.Errorf("there stays %v", left)
			}
		})
	}
}

func TestPython314UnderAnotherTracerIsEntered(t *testing.T) {
	t.Parallel()
	python, _ := modern(t)
	p := start(t, python, "import sys,time\nprint('ready')\nwhile not hasattr(sys, 'marks'): time.sleep(.01)\n"+
		"print('done', sys.marks)")
	traced(t, p, "strace", "-qq", "-o", "/dev/null", "-p", fmt.Sprint(p.Process.Pid))
	entry := officially(t, p.Process.Pid, mark)
	if line := p.line(t); line != "done 1" {
		t.Errorf("it said %q", line)
	}
	if err := entry.Free(); err != nil {
		t.Error(err)
	}
}

// traced has a debugger trace the program for the rest of the test.
func traced(t *testing.T, p *program, command ...string) {
	t.Helper()
	tracer := exec.Command(command[0], command[1:]...)
	stdin, open, err := os.Pipe() // gdb ends at the end of its input
	if err != nil {
		t.Fatal(err)
	}
	tracer.Stdin = stdin
	if err := tracer.Start(); err != nil {
		t.Fatalf("%s: %v", command[0], err)
	}
	t.Cleanup(func() {
		open.Close()
		stdin.Close()
		tracer.Process.Signal(syscall.SIGTERM)
		_ = tracer.Wait()
	})
	for range 200 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
		if err == nil && bytes.Contains(b, []byte("TracerPid:")) && !bytes.Contains(b, []byte("TracerPid:\t0\n")) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not trace it", command[0])
}

func TestAScriptThatHasNotRunIsTakenBack(t *testing.T) {
	t.Parallel()
	python, _ := modern(t)
	p := start(t, python, "import sys,time,ctypes\nprint('ready')\nctypes.CDLL(None).usleep(1500000)\n"+
		"for i in range(1000): pass\nprint('done', getattr(sys, 'marks', 0))")
	time.Sleep(100 * time.Millisecond)
	dir, put := putIn(t)
	entry, err := attach.Python(p.Process.Pid, mark, put)
	if err != nil {
		t.Fatal(err)
	}
	var refusal *attach.Refusal
	if _, err := attach.Python(p.Process.Pid, mark, put); !errors.As(err, &refusal) ||
		!strings.Contains(err.Error(), "another debugger is on its way into it") {
		t.Errorf("a second while the first waits: %v", err)
	}
	if !entry.Withdraw() {
		t.Error("something stays")
	}
	if line := p.line(t); line != "done 0" {
		t.Errorf("it said %q", line)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("there stays %v", left)
	}
}

func TestATextInTheQueueOfAnOlderPythonCannotBeTakenBack(t *testing.T) {
	t.Parallel()
	p := start(t, interpreter(t), "import time\nprint('ready')\nwhile True: time.sleep(.01)")
	if enter(t, p, mark).Withdraw() {
		t.Error("it says that nothing stays")
	}
}

func TestPython314RefusesWhereItsUserTurnedItOff(t *testing.T) {
	t.Parallel()
	python, _ := modern(t)
	const waiting = "import time\nprint('ready')\nwhile True: time.sleep(.01)"
	_, put := putIn(t)
	for _, command := range [][]string{
		{"-X", "disable-remote-debug", "-u", "-c", waiting},
		{"-u", "-Xdisable_remote_debug", "-c", waiting},
	} {
		p := start(t, python, "", command...)
		for _, put := range []attach.Put{put, nil} {
			_, err := attach.Python(p.Process.Pid, mark, put)
			var r *attach.Refusal
			if !errors.As(err, &r) || !strings.Contains(err.Error(), "remote debugging turned off") {
				t.Errorf("%q: error %v", command[:3], err)
			}
		}
	}
}

func TestAForkedPython314IsEntered(t *testing.T) {
	t.Parallel()
	python, _ := modern(t)
	p := start(t, python, `
import os, sys, threading, time, warnings
warnings.simplefilter("ignore")
def fork():
    if os.fork() == 0: # in the child this thread is the main one
        print("ready"); print(os.getpid())
        while not hasattr(sys, "marks"): time.sleep(.01)
        print("done", sys.marks)
        sys.stdout.flush(); os._exit(0)
t = threading.Thread(target=fork); t.start(); t.join()
os.wait()`)
	var child int
	if _, err := fmt.Sscan(p.line(t), &child); err != nil {
		t.Fatal(err)
	}
	officially(t, child, mark)
	if line := p.line(t); line != "done 1" {
		t.Errorf("it said %q", line)
	}
}

// embedding is a program in C with an interpreter in it.
const embedding = `
void Py_InitializeEx(int);
int PyRun_SimpleString(const char *);
int main(int n, char **args) {
	Py_InitializeEx(0);
	return PyRun_SimpleString(args[1]);
}`

// libpython is the library of an interpreter, empty for one that is static.
func libpython(home string) string {
	for _, folder := range [...]string{"lib", ""} {
		if found, _ := filepath.Glob(filepath.Join(home, folder, "libpython3.*.so.1.0")); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

// embedded builds that program against a libpython, in another folder.
func embedded(t *testing.T, library string) (program string) {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "server.c"), filepath.Join(dir, "server")
	if err := os.WriteFile(source, []byte(embedding), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-o", program, source, library,
		"-Wl,-rpath,"+filepath.Dir(library)).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return program
}

func TestAnInterpreterInAProgramOfCIsEntered(t *testing.T) {
	t.Parallel()
	for _, python := range interpreters(t) {
		home := filepath.Dir(filepath.Dir(python))
		library := libpython(home)
		if library == "" {
			continue
		}
		t.Run(python, func(t *testing.T) {
			t.Parallel()
			p := start(t, "env", "", "PYTHONHOME="+home, embedded(t, library), `
import sys, time
def say(*words): print(*words); sys.stdout.flush()
say("ready")
end = time.time() + 20
while not hasattr(sys, "marks") and time.time() < end: time.sleep(.01)
say("done", sys.marks)`)
			_, put := putIn(t)
			entry, err := attach.Python(p.Process.Pid, mark, put)
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Base(python) == "python3.14"; entry.Official != want {
				t.Errorf("official: %v, want %v", entry.Official, want)
			}
			if line := p.line(t); line != "done 1" {
				t.Errorf("it said %q", line)
			}
			if err := entry.Free(); err != nil {
				t.Error(err)
			}
		})
	}
}
