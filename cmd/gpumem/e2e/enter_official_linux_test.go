package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// modernPython is a CPython 3.14, which has an interface for debuggers.
func modernPython(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(os.Getenv("GPUMEM_TEST_PYTHONS"), "3.14*", "bin", "python3.14"))
	if len(found) == 0 {
		t.Skip("no CPython 3.14 here; scripts/test.sh fetches one into GPUMEM_TEST_PYTHONS")
	}
	return found[0]
}

func TestPython314IsAttachedToWithoutAStopAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{modernPython(t)}, "grow")
	before := g.state(t)
	var text string
	dir, v := answered(t, hasNoHolder, func(dir string) { text = joinedFor(t, g, dir, "9s") })
	if strings.Contains(text, "warning") {
		t.Error(text)
	}
	events, err := os.ReadFile(filepath.Join(dir, "run", record.FileEvents))
	if err != nil || !strings.Contains(string(events), "the program was not stopped") {
		t.Errorf("%v\n%s", err, events)
	}
	if len(v.Holders) == 0 ||
		!strings.Contains(v.Holders[0].Path, "asked.keep") {
		t.Errorf("holders %+v, want asked.keep\n%s", v.Holders, text)
	}
	g.isCleanBut(t, before, aDescriptor)
}

func TestAPython314InAnotherMountNamespaceReadsItsScriptThere(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a mount namespace and enter it")
	}
	g := startGuest(t, []string{"unshare", "-m", "sh", "-c",
		`cp "$1" /dev/shm/asked-$$.py && mount -t tmpfs none /tmp && cd / && exec "$0" /dev/shm/asked-$$.py grow`,
		modernPython(t)})
	defer os.Remove("/dev/shm/asked-" + pidOf(g.Cmd) + ".py")
	cmd, text := joined(t, g, t.TempDir())
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil || strings.Contains(text.String(), "warning") {
		t.Errorf("%v\n%s", err, text)
	}
	left, _ := filepath.Glob("/proc/" + pidOf(g.Cmd) + "/root/tmp/*")
	if len(left) > 0 {
		t.Errorf("there stays %v", left)
	}
}

// isolated is a program with two interpreters that have memory of their own, whose
// functions return after looks at the program.
const isolated = `
import threading, time
try:
    import _interpreters as interpreters
    make = lambda: interpreters.create("isolated")
except ImportError:
    import _xxsubinterpreters as interpreters
    make = lambda: interpreters.create(isolated=True)
run = getattr(interpreters, "exec", None) or interpreters.run_string
code = "import time\ndef wait():\n  time.sleep(5)\nwait()"
threads = [threading.Thread(target=run, args=(make(), code)) for _ in range(2)]
for thread in threads: thread.start()
kept, end = [], time.time() + 6
while time.time() < end:
    kept.append(bytearray(200000)); time.sleep(.02)
for thread in threads: thread.join()
print("ran on")
`

// TestInterpretersWithMemoryOfTheirOwnRunOn: sys._current_frames would make frames of
// theirs with the memory of the first interpreter, and the process would abort.
func TestInterpretersWithMemoryOfTheirOwnRunOn(t *testing.T) {
	t.Parallel()
	found, _ := filepath.Glob(filepath.Join(os.Getenv("GPUMEM_TEST_PYTHONS"), "3.1[2-9]*", "bin", "python3.??"))
	if len(found) == 0 {
		t.Skip("no CPython from 3.12 on here; scripts/test.sh fetches some into GPUMEM_TEST_PYTHONS")
	}
	for _, python := range found {
		t.Run(filepath.Base(python), func(t *testing.T) {
			t.Parallel()
			env := []string{"PYTHONHOME=" + filepath.Dir(filepath.Dir(python))}
			got := gpumemEnv(t, t.TempDir(), env, "run", "-q", "--out", "out", "--", python, "-c", isolated)
			if got.code != 0 || !strings.Contains(got.stdout, "ran on") || strings.Contains(got.stderr, "warning") {
				t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
}
