//go:build !windows

package python_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/agent"
)

// BenchmarkTraining is what the agent adds at 20 Hz to a small PyTorch training
// loop (see cost.py): its hook, with the 95 % interval, its samples and its
// thread. It needs a python3 with PyTorch, named by GPUMEM_TEST_TORCH, and runs
// once, whatever b.N.
func BenchmarkTraining(b *testing.B) {
	torch := os.Getenv("GPUMEM_TEST_TORCH")
	if torch == "" {
		b.Skip("GPUMEM_TEST_TORCH names no python3 with PyTorch")
	}
	o := run(b, traced{
		args: []string{"cost.py", "8"}, python: torch,
		env: []string{agent.EnvInterval + "=50", agent.EnvHold + "=1"},
	})
	if o.code != 0 {
		b.Fatalf("exit code %d: %s", o.code, o.stderr)
	}
	for line := range strings.Lines(o.stdout) {
		words := strings.Fields(line) // names, then as many figures
		for i, name := range words[:len(words)/2] {
			figure, err := strconv.ParseFloat(words[len(words)/2+i], 64)
			if err != nil {
				b.Fatalf("%q: %v", line, err)
			}
			b.ReportMetric(figure, name)
		}
	}
	b.ReportMetric(0, "ns/op") // says nothing here
}
