//go:build amd64

package attach_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/attach"
)

// waiting is a program that comes back to Python all the time.
const waiting = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(.01)"

// refused fails unless a process is refused in one line with these words.
func refused(t *testing.T, pid int, want string) {
	t.Helper()
	_, err := attach.Python(pid, mark, nil)
	var r *attach.Refusal
	if !errors.As(err, &r) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want a refusal with %q", err, want)
	}
}

// asUser is a command before another, that has it run as nobody.
var asUser = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}

// enteredBy has this test binary enter a process, with a command before it, and returns
// what it says: "<nil>" when it came in.
func enteredBy(t *testing.T, pid int, before ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gpumem-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "enter")
	// cp writes it: a program that is open for writing here cannot be run while something
	// that a parallel test started holds it open, too.
	copied := exec.Command("cp", fmt.Sprintf("/proc/%d/exe", os.Getpid()), path)
	if err := errors.Join(os.Chmod(dir, 0o755), copied.Run()); err != nil {
		t.Fatal(err)
	}
	command := append(append([]string{}, before...), path)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = "/", []string{enterTarget + "=" + fmt.Sprint(pid), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// onlyRoot skips where the test cannot become another user.
func onlyRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
}

func TestAnotherUserIsToldWhatTheSystemRefuses(t *testing.T) {
	t.Parallel()
	python := interpreter(t)
	onlyRoot(t)
	p := start(t, python, waiting)
	if said := enteredBy(t, p.Process.Pid, asUser...); said != "it belongs to another user; run gpumem as root" {
		t.Error(said)
	}
}

func TestAUserEntersProgramsOfHisOwn(t *testing.T) {
	t.Parallel()
	interpreter(t)
	onlyRoot(t)
	p := start(t, asUser[0], "", append(asUser[1:], "/usr/bin/python3", "-u", "-c", waiting)...)
	if said := enteredBy(t, p.Process.Pid, asUser...); said != "<nil>" &&
		!strings.Contains(said, "ptrace_scope is") {
		t.Error(said)
	}
}

func TestAProgramThatLetsNobodyTraceItIsRefusedItsUser(t *testing.T) {
	t.Parallel()
	interpreter(t)
	onlyRoot(t)
	const closed = "import ctypes\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n" + waiting // PR_SET_DUMPABLE
	p := start(t, asUser[0], "", append(asUser[1:], "/usr/bin/python3", "-u", "-c", closed)...)
	if said := enteredBy(t, p.Process.Pid, asUser...); !strings.Contains(said, "PR_SET_DUMPABLE is 0") ||
		!strings.Contains(said, "run gpumem as root") {
		t.Error(said)
	}
	if said := enteredBy(t, p.Process.Pid); said != "<nil>" {
		t.Errorf("root: %s", said)
	}
}

func TestRootWithoutTheCapabilityIsToldOfIt(t *testing.T) {
	t.Parallel()
	interpreter(t)
	onlyRoot(t)
	p := start(t, asUser[0], "", append(asUser[1:], "/usr/bin/python3", "-u", "-c", waiting)...)
	without := []string{"setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-all"}
	if said := enteredBy(t, p.Process.Pid, without...); !strings.Contains(said, "not even root trace it") ||
		!strings.Contains(said, "the capability SYS_PTRACE") {
		t.Error(said)
	}
}

// filter is Python that has the kernel refuse mmap from then on, as a container's filter
// of system calls may, and goes on.
const filter = `
import ctypes, struct, time
print("ready")
code = b"".join(struct.pack("HBBI", *i) for i in [
    (0x20, 0, 0, 0),          # load the number of the call
    (0x15, 0, 1, 9),          # mmap
    (0x06, 0, 0, 0x00050001), # EPERM
    (0x06, 0, 0, 0x7fff0000)])
text = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", 4, ctypes.addressof(text))
libc = ctypes.CDLL(None)
sleep, times = time.sleep, [0]
assert libc.prctl(38, 1, 0, 0, 0) == 0 # PR_SET_NO_NEW_PRIVS
assert libc.prctl(22, 2, program, 0, 0) == 0 # PR_SET_SECCOMP
print("filtered", flush=True)
while times[0] < 3000: times[0] += 1; sleep(.01)
`

func TestAFilterOfSystemCallsIsRefusedAndHarmsNothing(t *testing.T) {
	t.Parallel()
	p := start(t, interpreter(t), filter)
	if line := p.line(t); line != "filtered" {
		t.Fatalf("it said %q", line)
	}
	refused(t, p.Process.Pid, "it may not map memory: operation not permitted (a filter of system calls")
	p.runsOn(t)
}

// runsOn fails when the program has ended, or stands still.
func (p *program) runsOn(t *testing.T) {
	t.Helper()
	time.Sleep(100 * time.Millisecond)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	if _, state, _ := strings.Cut(string(b), ") "); err != nil || state == "" || strings.ContainsAny(state[:1], "ZTt") {
		t.Errorf("it does not run on: %v %s", err, b)
	}
}

func TestAProgramAtItsLimitOfMemoryIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t, interpreter(t), `
import resource, time
print("ready")
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size, size))
print("limited", flush=True)
while True: time.sleep(.01)`)
	if line := p.line(t); line != "limited" {
		t.Fatalf("it said %q", line)
	}
	refused(t, p.Process.Pid, "at its limit of address space; start it with a higher one (ulimit -v)")
	p.runsOn(t)
}

func TestAnotherPythonIsRefused(t *testing.T) {
	t.Parallel()
	interpreter(t)
	pypy, err := exec.LookPath("pypy3")
	if err != nil {
		t.Skip("no pypy3 here; scripts/test.sh installs it")
	}
	p := start(t, pypy, waiting)
	refused(t, p.Process.Pid, "its Python is not CPython; start the program with CPython")
}

// pausing are programs without a C library, for other architectures.
var pausing = map[string]string{
	"32-bit": `void _start(void) { for (;;) __asm__ volatile("int $0x80" ::"a"(29) : "memory"); }`,
	"arm64": `void _start(void) {
	register long call __asm__("x8") = 73, set __asm__("x0") = 0, count __asm__("x1") = 0;
	register long time __asm__("x2") = 0, mask __asm__("x3") = 0;
	for (;;) __asm__ volatile("svc 0" : "+r"(set) : "r"(call), "r"(count), "r"(time), "r"(mask) : "memory");
}`,
}

func TestProgramsOfOtherArchitecturesAreRefused(t *testing.T) {
	t.Parallel()
	interpreter(t)
	for _, c := range []struct {
		name     string
		compiler []string
		emulator string
		want     string
	}{
		{"32-bit", []string{"cc", "-m32"}, "", "of another architecture (EM_386, ELFCLASS32); use a gpumem"},
		{"arm64", []string{"aarch64-linux-gnu-gcc"}, "qemu-aarch64-static",
			"of another architecture: qemu-aarch64-static emulates it; start a build of the program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			source, program := filepath.Join(dir, "pause.c"), filepath.Join(dir, "pause")
			if err := os.WriteFile(source, []byte(pausing[c.name]), 0o600); err != nil {
				t.Fatal(err)
			}
			build := append(c.compiler, "-nostdlib", "-static", "-o", program, source)
			if out, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
				t.Skipf("no compiler for it here (scripts/test.sh installs one): %v\n%s", err, out)
			}
			cmd := exec.Command(program)
			if c.emulator != "" {
				cmd = exec.Command(c.emulator, program)
			}
			if err := cmd.Start(); err != nil {
				t.Skipf("it cannot be run here: %v", err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			time.Sleep(200 * time.Millisecond)
			refused(t, cmd.Process.Pid, c.want)
		})
	}
}

func TestAProgramThatADebuggerHasStoppedIsRefused(t *testing.T) {
	t.Parallel()
	python := interpreter(t)
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("no gdb here; scripts/test.sh installs it")
	}
	p := start(t, python, waiting)
	traced(t, p, "gdb", "-q", "-nx", "-p", fmt.Sprint(p.Process.Pid))
	time.Sleep(200 * time.Millisecond)
	refused(t, p.Process.Pid, "gdb (process ")
}
