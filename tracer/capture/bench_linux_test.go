package capture

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkPair prints what one cuMemAlloc with its cuMemFree costs more with
// the interposer, twelve frames deep. The budget is 100 ns.
func BenchmarkPair(b *testing.B) {
	for _, c := range []struct {
		name string
		mode Mode
		env  []string
	}{
		{"preload/stacks", ModePreload, nil},
		{"preload/no-stacks", ModePreload, []string{EnvStack + "=none"}},
		{"audit/stacks", ModeAudit, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			tools := build(b)
			pair := func(mode Mode) float64 {
				l := launch{mode: mode, env: c.env, args: []string{tools.app("plt"), "bench", "20000"}}
				ns, err := strconv.ParseFloat(strings.TrimSpace(run(b, l).stdout), 64)
				if err != nil {
					b.Fatal(err)
				}
				return ns
			}
			with, without := 1e9, 1e9
			for b.Loop() {
				with, without = min(with, pair(c.mode)), min(without, pair(ModeNone))
			}
			b.ReportMetric(with-without, "ns-more/pair")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkStart prints what the start of a program takes with and without.
func BenchmarkStart(b *testing.B) {
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		b.Fatal(err)
	}
	python := strings.TrimSpace(string(out)) // not a script that starts it
	for _, program := range [][]string{{"/bin/true"}, {python, "-c", "pass"}} {
		for _, mode := range []Mode{ModeNone, ModePreload, ModeAudit} {
			b.Run(strings.Join([]string{program[0], string(mode)}, "/"), func(b *testing.B) {
				dir, err := TempDir()
				if err != nil {
					b.Fatal(err)
				}
				defer dir.Remove()
				env, err := Prepare(dir.Path, mode, os.Environ())
				if err != nil {
					b.Fatal(err)
				}
				least := time.Hour
				for b.Loop() {
					cmd := exec.Command(program[0], program[1:]...)
					cmd.Env = append(os.Environ(), env...)
					start := time.Now()
					if err := cmd.Run(); err != nil {
						b.Fatal(err)
					}
					least = min(least, time.Since(start))
				}
				b.ReportMetric(float64(least.Microseconds()), "least-µs")
			})
		}
	}
}
