//go:build unix

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var ciFolder = filepath.Join("..", "..", "..", "scripts", "ci")

// shellBlock is the shell that stands under a key of a CI system's file: the
// lines below "key |" that are indented further.
func shellBlock(t *testing.T, file, key string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(ciFolder, file))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), key+" |\n")
	if !found {
		t.Fatalf("%s has no %q", file, key)
	}
	indent := rest[:len(rest)-len(strings.TrimLeft(rest, " "))]
	var block strings.Builder
	for line := range strings.Lines(rest) {
		body, inside := strings.CutPrefix(line, indent)
		if !inside {
			break
		}
		block.WriteString(body)
	}
	return block.String()
}

func actionShell(t *testing.T) string { return shellBlock(t, "action.yml", "run:") }
func gitlabShell(t *testing.T) string { return shellBlock(t, "gitlab-ci.yml", "-") }

func TestShellcheckFindsNothingInTheShellForCI(t *testing.T) {
	t.Parallel()
	checker, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed (Debian package shellcheck)")
	}
	if out, err := exec.Command(checker, filepath.Join(ciFolder, "check.sh")).CombinedOutput(); err != nil {
		t.Errorf("check.sh: %v\n%s", err, out)
	}
	for name, block := range map[string]string{"action.yml": actionShell(t),
		"gitlab-ci.yml": gitlabShell(t)} {
		cmd := exec.Command(checker, "--shell=bash", "-")
		cmd.Stdin = strings.NewReader(block)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// bash runs a block as a CI system does and returns its exit code.
func bash(t *testing.T, dir, block string, env ...string) int {
	t.Helper()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed: the shell for CI is bash")
	}
	cmd := exec.Command(shell, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", block)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append([]string{"GPUMEM=" + binary}, env...)...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, out)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
	return cmd.ProcessState.ExitCode()
}

func TestTheActionKeepsTheRunWritesTheSummaryAndPassesTheCodeOn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	action, err := filepath.Abs(ciFolder)
	if err != nil {
		t.Fatal(err)
	}
	// A program that ends before its first sample leaves no samples.csv. One that a busy machine
	// makes last is judged: "none" then, else "undecided".
	for name, c := range map[string]struct {
		command, failOn, base string
		code                  int
	}{
		"a program that ends well":     {`sleep 0.2; test "$(echo "a  b")" = "a  b"`, "any", "", 0},
		"the program's own code":       {"sleep 0.2; exit 9", "any", "", 9},
		"a verdict that fails the job": {"sleep 0.2", "undecided", "", 7},
		"no verdict fails":             {"sleep 0.2", "none", "", 0},
		"compared with a run":          {"sleep 0.2", "none", "earlier", 0},
	} {
		dir := t.TempDir()
		if c.base != "" {
			if got := gpumem(t, dir, "run", "-q", "--out", c.base, "--", "sleep", "0.2"); got.code != 0 {
				t.Fatal(got.stderr)
			}
		}
		summary, outputs := filepath.Join(dir, "summary"), filepath.Join(dir, "outputs")
		code := bash(t, dir, actionShell(t),
			"GITHUB_ACTION_PATH="+action, "GITHUB_STEP_SUMMARY="+summary, "GITHUB_OUTPUT="+
				outputs, "GITHUB_ACTIONS=true", "CI=true",
			"INPUT_COMMAND="+c.command, "INPUT_FAIL_ON="+c.failOn, "INPUT_OUT=the run", "INPUT_BASE="+
				c.base, "GPUMEM_FLAGS=--interval 20ms")
		v := string(readVerdict(t, filepath.Join(dir, "the run")).Verdict)
		want := c.code
		if c.failOn == "undecided" && v != c.failOn {
			want = 0 // the verdict that would fail the job did not come
		}
		if code != want || v != "undecided" && v != "none" {
			t.Errorf("%s: exit code %d, want %d; %s", name, code, want, v)
		}
		text, _ := os.ReadFile(summary)
		if !strings.Contains(string(text), v) ||
			(c.base != "") != strings.Contains(string(text), "gpumem diff") {
			t.Errorf("%s: the summary is\n%s", name, text)
		}
		told, _ := os.ReadFile(outputs)
		for _, line := range []string{"folder=the run\n", "verdict=" + v + "\n", "exit-code="} {
			if !strings.Contains(string(told), line) {
				t.Errorf("%s: no %q in the outputs\n%s", name, line, told)
			}
		}
		for _, file := range []string{"run.json", "samples.csv", "verdict.json", "report.html", "junit.xml",
			"gpumem.sarif", "metrics.txt", "summary.md"} {
			if _, err := os.Stat(filepath.Join(dir, "the run", file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestTheActionSaysThatGpumemIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	action, err := filepath.Abs(ciFolder)
	if err != nil {
		t.Fatal(err)
	}
	code := bash(t, dir, actionShell(t), "GITHUB_ACTION_PATH="+action, "INPUT_COMMAND=true",
		"INPUT_FAIL_ON=any", "INPUT_OUT=out", "INPUT_BASE=", "GPUMEM=no-such-gpumem")
	if code != 127 {
		t.Errorf("exit code %d", code)
	}
}

func TestTheGitLabJobKeepsWhatItsArtefactsName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check, err := filepath.Abs(filepath.Join(ciFolder, "check.sh"))
	if err != nil {
		t.Fatal(err)
	}
	code := bash(t, dir, gitlabShell(t), "GPUMEM_CHECK="+check, "GPUMEM_OUT=out", "GPUMEM_FAIL_ON=undecided",
		"GPUMEM_COMMAND=true", "GITHUB_STEP_SUMMARY=", "GITHUB_OUTPUT=")
	if code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	for _, file := range []string{"junit.xml", "metrics.txt", "report.html"} {
		if _, err := os.Stat(filepath.Join(dir, "out", file)); err != nil {
			t.Error(err)
		}
	}
}
