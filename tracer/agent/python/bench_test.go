//go:build !windows

package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/agent/python"
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
	report(b, o)
}

// BenchmarkLooks is what looks for holders cost a program on the processor that keeps
// 10,000 and 100,000 objects (see looks.py), with any PyTorch. It needs what
// BenchmarkTraining does, and runs once, whatever b.N.
func BenchmarkLooks(b *testing.B) {
	torch := os.Getenv("GPUMEM_TEST_TORCH")
	if torch == "" {
		b.Skip("GPUMEM_TEST_TORCH names no python3 with PyTorch")
	}
	for _, objects := range []string{"10000", "100000"} {
		b.Run(objects, func(b *testing.B) {
			report(b, run(b, traced{
				args: []string{"looks.py", objects, "60"}, python: torch,
				env: []string{agent.EnvInterval + "=50", agent.EnvHold + "=1"},
			}))
		})
	}
}

// report prints the figures of a program's lines: names, then as many figures.
func report(b *testing.B, o *outcome) {
	b.Helper()
	if o.code != 0 {
		b.Fatalf("exit code %d: %s", o.code, o.stderr)
	}
	for line := range strings.Lines(o.stdout) {
		words := strings.Fields(line)
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

// forking forks children that end at once, one after the other.
const (
	forks   = 40
	forking = `
import os
for _ in range(40):
    child = os.fork()
    if child == 0:
        raise SystemExit
    os.waitpid(child, 0)
`
)

// BenchmarkStartup is what the agent adds to a Python process that does nothing,
// from start to end, and to a forked child that does nothing: medians of runs
// without and with the agent, in turn, of the time that passes and of the
// processor's, on which a busy machine tells less. The program holds at its end and
// is released at once, as under gpumem run. It runs once, whatever b.N.
func BenchmarkStartup(b *testing.B) {
	server, err := agent.Listen(&tracer{procs: map[int]*told{}, asked: map[int]int{}}, 20*time.Millisecond)
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	added, err := python.Install(filepath.Join(b.TempDir(), "agent"))
	if err != nil {
		b.Fatal(err)
	}
	bare := append(os.Environ(), "PYTHONPATH=")
	traced := append(os.Environ(), "PYTHONPATH="+added[python.EnvPath], agent.EnvSocket+"="+server.Path(),
		agent.EnvInterval+"=50", agent.EnvHold+"=1")
	python3 := realInterpreter(b)
	spend(b, traced, python3, "pass") // what is compiled is kept
	var start, fork [2]spent
	for n := range 20 {
		for i, env := range [][]string{bare, traced} {
			start[i].add(spend(b, env, python3, "pass"))
			if n%4 == 0 {
				fork[i].add(spend(b, env, python3, forking))
			}
		}
	}
	startWall, startCPU := start[0].less(start[1])
	forkWall, forkCPU := fork[0].less(fork[1])
	b.ReportMetric(median(start[0].wall), "bare-ms")
	b.ReportMetric(startWall, "added-ms")
	b.ReportMetric(startCPU, "added-cpu-ms")
	b.ReportMetric((median(fork[0].wall)-median(start[0].wall))/forks, "fork-bare-ms")
	b.ReportMetric((forkWall-startWall)/forks, "fork-added-ms")
	b.ReportMetric((forkCPU-startCPU)/forks, "fork-added-cpu-ms")
	b.ReportMetric(0, "ns/op") // says nothing here
}

// spent are the milliseconds of several runs.
type spent struct{ wall, cpu []float64 }

func (s *spent) add(wall, cpu float64) {
	s.wall, s.cpu = append(s.wall, wall), append(s.cpu, cpu)
}

// less is how much less s is than other, by medians.
func (s *spent) less(other spent) (wall, cpu float64) {
	return median(other.wall) - median(s.wall), median(other.cpu) - median(s.cpu)
}

// spend runs a program; its children's processor time counts with its own.
func spend(b *testing.B, env []string, python3, program string) (wall, cpu float64) {
	cmd := exec.Command(python3, "-c", program)
	cmd.Env = env
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	wall = time.Since(begun).Seconds() * 1000
	return wall, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds() * 1000
}

// realInterpreter is the interpreter itself: what is on PATH may be a script.
func realInterpreter(b *testing.B) string {
	out, err := exec.Command(interpreter(b), "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
