package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// greened is a program in which other functions stand in the place of the system's, as
// gevent puts them there: threads that never get a turn unless the program waits.
const greened = `
import sys, types, _thread, time, os
monkey = types.ModuleType("gevent.monkey")
monkey.saved = {"_thread": {n: getattr(_thread, n) for n in ["start_new_thread"]},
                "time": {"sleep": time.sleep}, "os": {"close": os.close}}
sys.modules["gevent.monkey"] = monkey
calls = []
def instead(name):
    def function(*arguments):
        calls.append(name)
        raise RuntimeError("not outside of the loop")
    return function
sleep = time.sleep
for module, names in ((_thread, monkey.saved["_thread"]), (time, ["sleep"]), (os, ["close"])):
    for name in names: setattr(module, name, instead(name))
print("ready", flush=True)
kept = []
while True:
    kept.append(bytearray(100_000)); sleep(.01)
    if calls: print(calls, flush=True); calls.clear()
`

func TestAProgramOnGreenThreadsHasTheAgentOnAThreadOfItsOwn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	path := filepath.Join(t.TempDir(), "green.py")
	if err := os.WriteFile(path, []byte(greened), 0o600); err != nil {
		t.Fatal(err)
	}
	program := exec.Command("python3", path)
	var said strings.Builder
	program.Stderr = &said
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	g := &guest{program, bufio.NewReader(out)}
	defer func() {
		program.Process.Kill()
		rest, _ := g.out.ReadString(0)
		_ = program.Wait()
		if rest != "" || said.Len() > 0 {
			t.Errorf("the agent called what stands in the system's place: %s%s", rest, said.String())
		}
	}()
	if line := g.line(t); line != "ready" {
		t.Fatalf("the program said %q", line)
	}
	var text string
	_, v := answered(t, hasNoHolder, func(dir string) { text = joinedFor(t, g, dir, "9s") })
	if strings.Contains(text, "warning") {
		t.Error(text)
	}
	if len(v.Holders) == 0 || !strings.Contains(v.Holders[0].Path, "green.kept") {
		t.Errorf("holders %+v, want green.kept\n%s", v.Holders, text)
	}
}
