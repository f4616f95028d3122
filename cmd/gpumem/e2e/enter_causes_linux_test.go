package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tied is a program that turned its collector off, and whose objects refer to each other;
// its healthy twin collects now and then.
const tied = `
import gc, sys, time
gc.disable()
class Node: pass
def step(n):
    node = Node()
    node.itself, node.data = node, bytearray(100_000)
    if "collects" in sys.argv and n % 50 == 0: gc.collect()
print("ready", flush=True)
n = 0
while True:
    n += 1
    step(n)
    time.sleep(.005)
`

func TestAttachNamesTheCyclesThatNobodyCollects(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := filepath.Join(t.TempDir(), "tied.py")
	if err := os.WriteFile(path, []byte(tied), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, twin := range []string{"", "collects"} {
		g := guestOf(t, exec.Command("python3", path, twin))
		var text string
		attach := func(dir string) { text = joinedFor(t, g, dir, "10s") }
		if twin != "" {
			_, v := answered(t, isUndecided, attach)
			if v.Verdict == "host-growth" || len(v.Causes) > 0 {
				t.Errorf("the healthy twin: %s, %v\n%s", v.Verdict, v.Causes, text)
			}
			continue
		}
		_, v := answered(t, hasNoCause, attach)
		if v.Verdict != "host-growth" || len(v.Causes) == 0 || v.Causes[0].ID != "reference-cycle" ||
			!strings.Contains(v.Causes[0].Site, "tied.py:6 step") {
			t.Errorf("%s, %+v\n%s", v.Verdict, v.Causes, text)
		}
	}
}

// unlocked is a program whose interpreter says that it has no lock of its own.
const unlocked = `
import sys, time
sys._is_gil_enabled = lambda: False
keep = []
print("ready", flush=True)
while True:
    keep.append(bytearray(100_000))
    time.sleep(.01)
`

func TestAFreeThreadedPythonIsToldThatNobodyLooksForHolders(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := filepath.Join(t.TempDir(), "unlocked.py")
	if err := os.WriteFile(path, []byte(unlocked), 0o600); err != nil {
		t.Fatal(err)
	}
	g := guestOf(t, exec.Command("python3", path))
	const told = "its Python is free-threaded (no GIL): who holds memory is not looked for"
	cmd, text := joined(t, g, t.TempDir(), "--for", "3s")
	if err := cmd.Wait(); err != nil || !strings.Contains(text.String(), told) {
		t.Errorf("attach: %v\n%s", err, text)
	}
	look := gpumem(t, t.TempDir(), "look", pidOf(g.Cmd), "--json")
	if look.code != 0 || !strings.Contains(look.stdout, told) || strings.Contains(look.stdout, "holders\"") {
		t.Errorf("look: code %d\n%s%s", look.code, look.stdout, look.stderr)
	}
}
