//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

// rankRow is the one process of a rank that a verdict knows under a name; with
// an empty name, of any.
func rankRow(t *testing.T, v *verdict.Verdict, rank int, name string) verdict.ProcessRow {
	t.Helper()
	for _, p := range v.Processes {
		if p.Rank != nil && *p.Rank == rank && (name == "" || p.Name == name) {
			return p
		}
	}
	t.Fatalf("no process of rank %d %s in %+v", rank, name, v.Processes)
	return verdict.ProcessRow{}
}

func TestOfSeveralRanksTheOneThatLeaksIsNamed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	program, err := filepath.Abs(filepath.Join("testdata", "ranks", "processes.py"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, v := decided(t, dir, nil, "run", "-q", "--", "python3", program)
	leaking := rankRow(t, v, 1, "rank-1")
	if v.PID != leaking.PID || v.Verdict != verdict.HostGrowth {
		t.Errorf("%s of process %d, want host-growth of rank 1, process %d", v.Verdict, v.PID, leaking.PID)
	}
	for _, healthy := range []struct {
		rank int
		name string
	}{{0, "rank-0"}, {2, "rank-2"}, {0, "ForkProcess-1:1"}, {0, "ForkProcess-1:2"}} {
		if p := rankRow(t, v, healthy.rank, healthy.name); p.Verdict == verdict.HostGrowth {
			t.Errorf("healthy: %+v", p)
		}
	}
}

func TestOfARealTorchrunTheRankThatLeaksIsNamed(t *testing.T) {
	t.Parallel()
	python := os.Getenv("GPUMEM_TEST_TORCH")
	if python == "" {
		python = "python3"
	}
	const able = "import torch, torch.distributed as d; assert torch.__version__ >= '2' and " +
		"d.is_gloo_available()"
	if exec.Command(python, "-c", able).Run() != nil {
		t.Skip(
			"no python3 with PyTorch 2 here, and torchrun of PyTorch 1.13 does not start on Python 3.11; " +
				"GPUMEM_TEST_TORCH names one")
	}
	program, err := filepath.Abs(filepath.Join("testdata", "ranks", "torch_ranks.py"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, v := decided(t, dir, nil, "run", "-q", "--",
		python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "3", program)
	leaking := rankRow(t, v, 1, "")
	if v.PID != leaking.PID || v.Verdict != verdict.HostGrowth {
		t.Errorf("%s of process %d, want host-growth of rank 1, process %d", v.Verdict, v.PID, leaking.PID)
	}
	if len(v.Holders) == 0 || v.Holders[0].Path != "list torch_ranks.kept" {
		t.Errorf("holders %+v", v.Holders)
	}
	workers := 0
	for _, p := range v.Processes {
		if p.Name == "Process-1" || p.Name == "Process-2" {
			workers++
		}
		if p.Verdict == verdict.HostGrowth && p.PID != leaking.PID {
			t.Errorf("healthy: %+v", p)
		}
	}
	if workers != 2 {
		t.Errorf("%d workers of the loader in %+v", workers, v.Processes)
	}
}
