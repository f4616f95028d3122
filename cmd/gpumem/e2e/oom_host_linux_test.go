package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramsThatRunOutOfHostMemoryHaveTheirReason runs the programs of scripts/gpu/oom.py
// that need no GPU, with real PyTorch, each with its twin. The list there is the truth.
func TestProgramsThatRunOutOfHostMemoryHaveTheirReason(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	python := os.Getenv("GPUMEM_TEST_TORCH")
	if python == "" {
		t.Skip("GPUMEM_TEST_TORCH does not name a Python with PyTorch")
	}
	script, err := filepath.Abs("../../../scripts/gpu/oom.py")
	if err != nil {
		t.Fatal(err)
	}
	list, err := exec.Command(python, script, "list", "host").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, list)
	}
	programs := strings.Split(strings.TrimSpace(string(list)), "\n")
	if len(programs) < 4 {
		t.Fatalf("%d programs: %q", len(programs), list)
	}
	dir := t.TempDir()
	for _, line := range programs {
		name, reason, _ := strings.Cut(line, " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gpumem(t, dir, "run", "--out", name, "--", python, script, name)
			o := readVerdict(t, filepath.Join(dir, name)).OOM
			if got.code != 1 || o == nil || string(o.Reason) != reason || !o.Ended() {
				t.Errorf("exit code %d, %+v, want %s\n%s%s", got.code, o, reason, got.stdout, got.stderr)
			}
			got = gpumem(t, dir, "run", "--out", name+"-twin", "--", python, script, name, "twin")
			if o := readVerdict(t, filepath.Join(dir, name+"-twin")).OOM; got.code != 0 || o != nil {
				t.Errorf("the twin: exit code %d, %+v\n%s%s", got.code, o, got.stdout, got.stderr)
			}
		})
	}
}
