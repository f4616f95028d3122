package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// reproduce pastes the line under "Reproduce" in a run's report into a shell
// and returns the run that this makes.
func reproduce(t *testing.T, dir, run string) *record.Run {
	t.Helper()
	text := gpumem(t, dir, "report", run).stdout
	_, line, ok := strings.Cut(text, "\nReproduce\n")
	if !ok {
		t.Fatalf("nothing to reproduce in\n%s", text)
	}
	fresh := t.TempDir()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = fresh, append(os.Environ(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	again, err := record.Open(glob(t, filepath.Join(fresh, "gpumem-*")))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestTheReproduceLineMakesTheSameRunAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for name, args := range map[string][]string{
		"workload": {"--interval", "20ms", "--purge", "--sites=false", "xor", "--fault=no-flush",
			"--leftover", "2MiB", "--fail-on", "pool-growth"},
		"program": {"--interval", "20ms", "--first-touch=false", "--inject", "none", "--", "sh", "-c",
			"echo \"it's $0\"; : 'a  b'", "two words", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if got := gpumem(t, dir, append([]string{"run", "-q", "--out", "r"}, args...)...); got.code != 0 {
				t.Fatalf("exit code %d\n%s", got.code, got.stderr)
			}
			checkReproduced(t, dir, "r", "20ms")
		})
	}
}

func TestARecordingOfARunningProgramIsReproducedByStartingIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := exec.Command("cat")
	stdin, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); program.Wait() })
	attach := exec.Command(binary, "attach", pidOf(program), "--for", "1h", "--interval",
		"10ms", "--out", "r")
	attach.Dir = dir
	if err := attach.Start(); err != nil {
		t.Fatal(err)
	}
	waitForRows(t, filepath.Join(dir, "r", record.FileSamples), 5)
	attach.Process.Signal(os.Interrupt)
	if err := attach.Wait(); err != nil {
		t.Fatal(err)
	}
	checkReproduced(t, dir, "r", "10ms")
}

// checkReproduced compares a run with the one that its line makes.
func checkReproduced(t *testing.T, dir, name, interval string) {
	t.Helper()
	run, err := record.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if run.Meta.Flags["interval"] != interval {
		t.Errorf("flags %v, want interval %s", run.Meta.Flags, interval)
	}
	again := reproduce(t, dir, name)
	if !slices.Equal(again.Meta.Command, run.Meta.Command) || !maps.Equal(again.Meta.Flags, run.Meta.Flags) ||
		again.Meta.IntervalMs != run.Meta.IntervalMs {
		t.Errorf("made %q with %v, want %q with %v", again.Meta.Command, again.Meta.Flags, run.Meta.Command,
			run.Meta.Flags)
	}
}
