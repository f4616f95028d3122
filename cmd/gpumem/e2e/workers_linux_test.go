package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/account"
)

// workersProgram starts ten workers one after the other, and ends them or not.
const workersProgram = `
import multiprocessing, sys, time

def work(seconds):
    held = bytearray(24 << 20)
    for i in range(0, len(held), 4096):
        held[i] = 1
    time.sleep(seconds)

def spawn_worker(seconds):
    process = multiprocessing.Process(target=work, args=(seconds,), daemon=True)
    process.start()
    return process

if __name__ == "__main__":
    for _ in range(10):
        worker = spawn_worker(60 if sys.argv[1:] else 1)
        time.sleep(1.2)
        if not sys.argv[1:]:
            worker.join()
`

func TestWorkersThatNobodyEndsAreFoundWithTheLineThatStartedThem(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "serve.py"), []byte(workersProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args  []string
		class account.Class
	}{
		"workers that come and go": {nil, account.None},
		"workers that are left":    {[]string{"left"}, account.HostGrowth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, v := decided(t, dir, nil, strings.ReplaceAll(name, " ", "-"),
				append([]string{"-q", "--", "python3", "serve.py"}, c.args...)...)
			if v.Verdict != c.class {
				t.Errorf("%s", v.Summary)
			}
			if c.args == nil {
				return
			}
			if len(v.Causes) == 0 || v.Causes[0].ID != "workers-left" ||
				!strings.Contains(v.Causes[0].Evidence[0], "serve.py:12 spawn_worker") {
				t.Errorf("causes %+v", v.Causes)
			}
		})
	}
}
