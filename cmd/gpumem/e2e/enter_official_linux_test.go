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
	dir := t.TempDir()
	cmd, text := joined(t, g, dir, "--for", "9s")
	if err := cmd.Wait(); err != nil || strings.Contains(text.String(), "warning") {
		t.Fatalf("%v\n%s", err, text)
	}
	events, err := os.ReadFile(filepath.Join(dir, "run", record.FileEvents))
	if err != nil || !strings.Contains(string(events), "the program was not stopped") {
		t.Errorf("%v\n%s", err, events)
	}
	if v := readVerdict(t, filepath.Join(dir, "run")); len(v.Holders) == 0 ||
		!strings.Contains(v.Holders[0].Path, "asked.keep") {
		t.Errorf("holders %+v, want asked.keep\n%s", v.Holders, text)
	}
	before.Files = g.state(t).Files // libraries of Python keep a descriptor at their first use
	g.isClean(t, before)
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
