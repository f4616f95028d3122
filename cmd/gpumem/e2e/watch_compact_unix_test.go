//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/ttmetal"
)

func TestTheCompactWatchPrintsMemoryWithItsLevelAndBuffers(t *testing.T) {
	t.Parallel()
	dir, socket, _ := served(t, "--device", "0:wormhole_b0:4GiB:10MiB")
	reports(t, socket, buffer(0, 0x1000, 1<<30, ttmetal.DRAM), buffer(0, 0x2000, 4096, ttmetal.L1))
	got := gpumem(t, dir, "watch", "--server", socket, "--compact", "--samples", "2", "--interval", "20ms")
	want := "#1  1024.00 MB  high  2 buffers\n#2  1024.00 MB  high  2 buffers\n"
	if got.code != 0 || got.stdout != want {
		t.Errorf("exit code %d: %q, want %q\n%s", got.code, got.stdout, want, got.stderr)
	}

	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"run.json": `{"schema":1,"command":["x"],"pid":7,"start":"2026-01-01T00:00:00Z","end":"2026-01-01T00:01:00Z"}`,
		"samples.csv": "t_ms,pid,gpu_bytes,live_count\n0,7,1,1\n100,9,1,1\n40000,7,104857600,465\n" +
			"40000,8,1048576,\n",
	} {
		if err := os.WriteFile(filepath.Join(run, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// PID 9 has had no row for long, and PID 8 does not tell its buffers.
	got = gpumem(t, dir, "watch", "--compact", "run")
	if got.code != 0 || got.stdout != "#1  101.00 MB  moderate  465 buffers\n" {
		t.Errorf("of a run: exit code %d: %q\n%s", got.code, got.stdout, got.stderr)
	}

	got = gpumem(t, dir, "watch", "--compact", "--devices", "--samples", "2", "--interval", "20ms")
	lines := regexp.MustCompile(`(?m)^#\d  (memory unknown|[\d.]+ MB  \w+)  (buffers unknown|\d+ buffers?)$`)
	if got.code != 0 || len(lines.FindAllString(got.stdout, -1)) != 2 {
		t.Errorf("of the machine: exit code %d: %q\n%s", got.code, got.stdout, got.stderr)
	}
	got = gpumem(t, dir, "watch", "--compact", "--json")
	if got.code != exitUsage || !strings.Contains(got.stderr, "--json and --compact: give one of them") {
		t.Errorf("both: exit code %d: %s", got.code, got.stderr)
	}
}
