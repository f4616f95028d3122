package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestWhatAUserGetsWrongEndsInOneLineWithTheNearestName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "header.csv": "t_ms,rss_bytes\n", "other.csv": "timestamp, pid, loss\n1, 2, 3\n",
		"binary": "\x7fELF\x02\x00\xff",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cases := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run", "nqueen"}, 2, `did you mean "nqueens"?`},
		{[]string{"run", "no-such-program", "x.py"}, 2, "neither a workload nor a program on the PATH"},
		{[]string{"run"}, 2, "takes a program or a workload"},
		{[]string{"run", "--interval", "5", "xor"}, 2, "as in --interval 5s"},
		{[]string{"run", "--tui", "--no-tui", "xor"}, 2, "exclude each other"},
		{[]string{"python3", "x.py"}, 2, "gpumem run python3 x.py"},
		{[]string{"run", "nqueens", "--epoch", "3"}, 2, `did you mean "--epochs"?`},
		{[]string{"run", "--intervall", "3", "nqueens"}, 2, `did you mean "--interval"?`},
		{[]string{"run", "nqueens", "--fault", "uncut"}, 2, `did you mean "uncut-graph"?`},
		{[]string{"run", "nqueens", "--policy", "tensorlogik"}, 2, `did you mean "tensorlogic"?`},
		{[]string{"run", "nqueens", "--device", "sofd"}, 2, `did you mean "soft"?`},
		{[]string{"run", "nqueens", "--epochs", "zero"}, 2, "must be a whole number"},
		{[]string{"run", "nqueens", "--epochs", "0"}, 2, "must be a whole number"},
		{[]string{"run", "nqueens", "--interval", "0s"}, 2, "must be from 1ms"},
		{[]string{"run", "nqueens", "--repeat", "0"}, 2, "must be 1 or more"},
		{[]string{"run", "nqueens", "--fail-on", "leak"}, 2, `did you mean "app-leak"?`},
		{[]string{"run", "nqueens", "--format", "jsn"}, 2, `did you mean "json"?`},
		{[]string{"run", "nqueens", "--leftover", "lots"}, 2, "is not a size"},
		{[]string{"run", "nqueens", "extra"}, 2, "takes no arguments"},
		{[]string{"run", "--fault", "x", "--", "true"}, 2, "is for bundled workloads"},
		{[]string{"run", "--out", "taken", "nqueens"}, 1, "--force"},
		{[]string{"report"}, 2, "no recording here"},
		{[]string{"report", "missing"}, 1, "does not exist"},
		{[]string{"report", "missing", "--unified", "maybe"}, 2, "auto, yes or no"},
		{[]string{"report", "empty"}, 1, "empty is empty"},
		{[]string{"report", "header.csv"}, 1, "a header and no samples"},
		{[]string{"report", "other.csv"}, 1, "not a recording of a known tool (torch-snapshot, "},
		{[]string{"diff", "binary", "other.csv"}, 1, "not a recording of a known tool (torch-snapshot, "},
		{[]string{"export", "taken", "--to", "perfetto"}, 1, "neither run.json nor samples.csv"},
		{[]string{"help", "runn"}, 2, `did you mean "run"?`},
		{[]string{"completion", "bahs"}, 2, `did you mean "bash"?`},
		{[]string{"repport", "x"}, 2, `did you mean "report"?`},
		{[]string{"version", "x"}, 2, "takes no arguments"},
	}
	for _, c := range cases {
		got := gpumem(t, dir, c.args...)
		lines := strings.Count(got.stderr, "\n")
		if got.code != c.code || lines != 1 || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
			t.Errorf("gpumem %s: exit code %d (want %d), stdout %q, stderr %q (want one line with %q)",
				strings.Join(c.args, " "), got.code, c.code, got.stdout, got.stderr, c.want)
		}
	}
}

func TestAProgramThatCannotStartLeavesItsCodeAndAValidFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"not found":      {[]string{"no-such-program-here"}, 127},
		"not executable": {[]string{plain}, 126},
		"dies at once":   {[]string{"sh", "-c", "exit 9"}, 9},
		"by signal":      {[]string{"sh", "-c", "kill -TERM $$"}, 143},
	} {
		out := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		got := gpumem(t, dir, append([]string{"run", "-q", "--out", out, "--"}, c.args...)...)
		if got.code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", name, got.code, c.code, got.stderr)
		}
		run, err := record.Open(out)
		if err != nil {
			t.Errorf("%s: the run folder cannot be read: %v", name, err)
			continue
		}
		if run.Meta.ExitCode == nil || *run.Meta.ExitCode != c.code {
			t.Errorf("%s: run.json has exit code %v, want %d", name, run.Meta.ExitCode, c.code)
		}
	}
}

func TestTheProgramsStdoutIsItsOwn(t *testing.T) {
	t.Parallel()
	got := gpumem(t, t.TempDir(), "run", "--out", "out", "--", "sh", "-c", "echo data; echo talk >&2; exit 3")
	if got.stdout != "data\n" || got.code != 3 || !strings.HasPrefix(got.stderr, "talk\n") {
		t.Errorf("stdout %q, exit code %d, stderr %q", got.stdout, got.code, got.stderr)
	}
}

func TestRunsWithinOneSecondHaveFoldersOfTheirOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const runs = 5 // of which some begin within one second of the clock, wherever it stands
	for range runs {
		if got := gpumem(t, dir, "run", "-q", "--", "true"); got.code != 0 {
			t.Errorf("exit code %d\n%s", got.code, got.stderr)
		}
	}
	if folders, _ := filepath.Glob(filepath.Join(dir, "gpumem-true-*")); len(folders) != runs {
		t.Errorf("%d runs left %q", runs, folders)
	}
}

func TestFailOnTurnsAVerdictIntoItsCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := []string{"run", "--out", "out", "modelload", "--scale", "8", "--policy", "tensorlogic"}
	if got := gpumem(t, dir, append(args, "--fail-on", "pool-growth")...); got.code != 4 {
		t.Errorf("exit code %d, want 4\n%s", got.code, got.stderr)
	}
	if got := gpumem(t, dir, "report", "out", "--fail-on", "any"); got.code != 4 {
		t.Errorf("report --fail-on any: exit code %d, want 4\n%s", got.code, got.stderr)
	}
	if got := gpumem(t, dir, "report", "out", "--fail-on", "app-leak"); got.code != 0 {
		t.Errorf("report --fail-on app-leak: exit code %d, want 0\n%s", got.code, got.stderr)
	}
}

func TestAGrowthThatNobodyOwnsFailsAReportAsItFailsARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "t_ms,gpu_bytes\n"
	for i := range 600 {
		text += fmt.Sprintf("%d,%d\n", i*50, 1<<30+i<<18+i%7<<12)
	}
	if err := os.WriteFile(filepath.Join(dir, "gpu.csv"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := gpumem(t, dir, "report", "gpu.csv", "--fail-on", "any"); got.code != 7 {
		t.Errorf("exit code %d, want 7\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := gpumem(t, dir, "report", "gpu.csv", "--fail-on", "app-leak"); got.code != 0 {
		t.Errorf("exit code %d, want 0", got.code)
	}
}

func TestHelpAndCompletionNameTheWorkloads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"uncut-graph":          {"run", "nqueens", "--help"},
		"gpumem run":           {"run", "--help"},
		"nqueens\tsolves":      {"__complete", "run", ""},
		"bash completion":      {"completion", "bash"},
		"neatml-early":         {"workloads"},
		"soft":                 {"devices"},
		"gpumem ":              {"version"},
		runtime.GOARCH:         {"--version"},
		"Usage:\n  gpumem run": {"help", "run"},
		"Available Commands":   {"--help"},
	} {
		got := gpumem(t, dir, args...)
		if got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("gpumem %v: exit code %d, no %q in\n%s%s", args, got.code, want, got.stdout, got.stderr)
		}
	}
}
