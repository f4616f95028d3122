package e2e

import (
	"encoding/json"
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

// exhausted is a program on the stand-in for PyTorch that runs out of memory at
// SIGUSR1, catches the error, and says how many observers there are.
const exhausted = `
import signal, sys, time
import torch
MIB = 1 << 20
class Model(torch.nn.Module):
    def __init__(self):
        self.training = True
        self._buffers = {}
        self.weights = [torch.nn.Parameter(torch.empty(4 * MIB)) for _ in range(3)]
model = Model()
optimizer = torch.optim.SGD(model.weights)
optimizer.state[model.weights[0]] = {"momentum_buffer": torch.empty(8 * MIB)}
torch.cuda.limit = 64 * MIB
def forward(*_):
    try:
        torch.empty(100 * MIB)
    except torch.OutOfMemoryError:
        print("caught", len(torch.cuda.observers), "gpumem" in repr(sys.modules), flush=True)
signal.signal(signal.SIGUSR1, forward)
print("ready", flush=True)
while True:
    optimizer.step()
    time.sleep(.01)
`

// startExhausted starts it.
func startExhausted(t *testing.T) *guest {
	t.Helper()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	fakes, err := filepath.Abs("../../../tracer/agent/python/tests/fakes")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "exhausted.py")
	if err := os.WriteFile(path, []byte(exhausted), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", path)
	cmd.Env, cmd.Stderr = append(os.Environ(), "PYTHONPATH="+fakes, "PYTHONDONTWRITEBYTECODE=1"), os.Stderr
	return guestOf(t, cmd)
}

// isOOMTold reports whether the run below dir has an error yet.
func isOOMTold(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "run", record.FileEvents))
	return err == nil && strings.Contains(string(b), `"kind":"oom"`)
}

func TestAProgramThatRunsOutOfMemoryWhileAttachedTellsWhatItHeld(t *testing.T) {
	t.Parallel()
	g := startExhausted(t)
	exhaust := func() string {
		t.Helper()
		if err := g.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		return g.line(t)
	}
	caught := func(want string) {
		t.Helper()
		if line := exhaust(); line != want {
			t.Errorf("the program said %q, want %q", line, want)
		}
	}
	caught("caught 0 False")
	for range 2 { // the second finds the observer of the first
		dir := t.TempDir()
		cmd, text := joined(t, g, dir, "--for", "5s", "--inject", "python")
		// The agent is in before it observes.
		for deadline := time.Now().Add(patience); !isOOMTold(dir) && time.Now().Before(deadline); {
			exhaust()
			time.Sleep(500 * time.Millisecond)
		}
		caught("caught 1 True")
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		run, err := record.Open(filepath.Join(dir, "run"))
		if err != nil {
			t.Fatal(err)
		}
		var told []record.OOM
		composed := false
		for _, e := range run.Events {
			if d, ok := record.DetailOf[record.OOM](&e); ok && e.Kind == record.KindOOM {
				told = append(told, d)
			}
			composed = composed || e.Kind == record.KindComposition
		}
		if len(told) == 0 || slices.ContainsFunc(told, func(o record.OOM) bool {
			return o.Asked != 100<<20 || o.Categories["parameters"] != 12<<20 || o.Categories["optimizer state"] != 8<<20
		}) {
			t.Errorf("told of %+v", told)
		}
		if !composed {
			t.Error("what live memory is made of at the end was not told")
		}
		if !strings.Contains(text.String(), "still in it: an observer of PyTorch's out-of-memory errors that does "+
			"nothing") || strings.Contains(text.String(), "warning: the Python agent") {
			t.Errorf("the closing line:\n%s", text)
		}
		for range 100 { // until the last modules are out
			if g.Process.Signal(syscall.SIGUSR1) != nil || g.line(t) == "caught 1 False" {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		caught("caught 1 False")
	}
}

func TestALookSaysWhatLiveMemoryIsMadeOf(t *testing.T) {
	t.Parallel()
	g := startExhausted(t)
	got := gpumem(t, t.TempDir(), "look", pidOf(g.Cmd), "--json")
	var l struct {
		Accounts   struct{ Live *int64 }
		Categories map[string]int64
		Pool       struct {
			Live int64 `json:"live_bytes"`
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &l); err != nil {
		t.Fatalf("%v\n%s%s", err, got.stdout, got.stderr)
	}
	sum := int64(0)
	for _, bytes := range l.Categories {
		sum += bytes
	}
	if l.Accounts.Live == nil || *l.Accounts.Live != 20<<20 || sum != 20<<20 || l.Pool.Live != 20<<20 ||
		l.Categories["optimizer state"] != 8<<20 {
		t.Errorf("live %v, categories %v\n%s", l.Accounts.Live, l.Categories, got.stdout)
	}
	if err := g.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if line := g.line(t); line != "caught 0 False" { // a look puts no observer in
		t.Errorf("the program said %q", line)
	}
}

func TestAttachRecordsAWindowOfStepsWhenAsked(t *testing.T) {
	t.Parallel()
	g := startExhausted(t)
	for _, asked := range []string{"steps:2,after:3", "off"} {
		dir := t.TempDir()
		cmd, text := joined(t, g, dir, "--for", "6s", "--inject", "python", "--profile="+asked)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		run, err := record.Open(filepath.Join(dir, "run"))
		if err != nil {
			t.Fatal(err)
		}
		windows := 0
		for _, e := range run.Events {
			if e.Kind == record.KindWindow {
				windows++
			}
		}
		if (windows > 0) != (asked != "off") {
			t.Errorf("--profile=%s: %d parts of a window", asked, windows)
		}
	}
}
