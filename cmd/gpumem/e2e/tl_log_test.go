package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReportReadsTensorLogicsMemoryCheck runs the workload of the first
// investigation with its lines on, and has them judged without the run folder: what
// its authors took for held references is the pool's.
func TestReportReadsTensorLogicsMemoryCheck(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{"": "pool-growth", "clone-retained": "app-leak"} {
		dir := t.TempDir()
		args := []string{"run", "--out", filepath.Join(dir, "run"), "modelload", "--policy", "tensorlogic",
			"--scale", "8", "--device", "soft"}
		if fault != "" {
			args = append(args, "--fault", fault)
		}
		got := gpumemEnv(t, dir, []string{"TL_MEMORY_CHECK=1"}, args...)
		log := filepath.Join(dir, "run.log")
		if err := os.WriteFile(log, []byte(got.stderr), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := gpumem(t, dir, "report", log); !strings.Contains(got.stdout, "\n"+want+" (") {
			t.Errorf("fault %q: want %s of the log, got\n%s%s", fault, want, got.stdout, got.stderr)
		}
	}
}

func TestAVariableThatIsNoNumberIsRefusedBeforeTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"TL_BUFFER_MAX_MB", "TL_COMPUTE_PER_BUFFER"} {
		got := gpumemEnv(t, dir, []string{name + "=many"}, "run", "--out", filepath.Join(dir, "run"), "xor")
		want := "gpumem: xor: " + name + "=many: must be a whole number from 1 on\n"
		if _, err := os.Stat(filepath.Join(dir, "run")); got.code != exitUsage || got.stderr != want ||
			err == nil {
			t.Errorf("exit code %d, %v, want the one line %q:\n%s", got.code, err, want, got.stderr)
		}
	}
}

func TestReportReadsTheLogsThatAreNoMemoryCheck(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	load := []string{"modelload", "--policy", "tensorlogic", "--scale", "8"}
	queens := []string{"nqueens", "--epochs", "60", "--attempts", "1"}
	for _, c := range []struct {
		variable string
		workload []string
		want     string
	}{
		{"TL_DEBUG_MEMORY=1", load, "pool-growth ("},
		{"GPUMEM_NOTHING=1", load, "pool-growth ("}, // the warning that comes in any case
		{"TL_MEM_LOG=1", queens, "none ("},
		{"TL_MEM_LOG=1", append(queens, "--fault", "uncut-graph"), "app-leak ("},
		{"TL_MEM_TRACE=1", append(queens, "--fault", "uncut-graph"), "app-leak ("},
	} {
		dir := t.TempDir()
		log := filepath.Join(dir, "run.log")
		args := append([]string{"run", "--out", filepath.Join(dir, "run"), "--device", "soft"}, c.workload...)
		ran := gpumemEnv(t, dir, []string{c.variable}, args...)
		if err := os.WriteFile(log, []byte(ran.stderr), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := gpumem(t, dir, "report", log); !strings.Contains(got.stdout, "\n"+c.want) {
			t.Errorf("%s %v: want %s of the log, got\n%s%s", c.variable, c.workload, c.want, got.stdout,
				got.stderr)
		}
	}
}
