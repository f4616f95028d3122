package e2e

import (
	"io"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkTraced times the same workload with and without a tracer, in turn,
// and prints the ratio. The workload's own agent is on only when traced.
func BenchmarkTraced(b *testing.B) {
	args := []string{"nqueens", "--solutions=1", "--attempts=20"}
	dir := b.TempDir()
	var traced, plain time.Duration
	for b.Loop() {
		plain += timed(b, dir, append([]string{"__workload"}, args...)...)
		traced += timed(b, dir, append([]string{"run", "-q", "--force", "--out", filepath.Join(dir, "out")},
			args...)...)
	}
	b.ReportMetric(plain.Seconds()/float64(b.N), "untraced-s/op")
	b.ReportMetric(traced.Seconds()/float64(b.N), "traced-s/op")
	b.ReportMetric(traced.Seconds()/plain.Seconds(), "traced/untraced")
}

// BenchmarkVersion times the shortest command: what every start costs.
func BenchmarkVersion(b *testing.B) {
	for b.Loop() {
		timed(b, b.TempDir(), "version")
	}
}

func timed(b *testing.B, dir string, args ...string) time.Duration {
	b.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, io.Discard, io.Discard
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("gpumem %v: %v", args, err)
	}
	return time.Since(start)
}
