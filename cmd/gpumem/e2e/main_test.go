package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && actAs(os.Args[1]) {
		return
	}
	code, err := buildAndTest(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// atOnce is how many tests run at the same time: most of them wait for a program that
// sleeps, and two of them, one for each processor of a small machine, leave it idle.
const atOnce = "4"

func buildAndTest(m *testing.M) (int, error) {
	flag.Parse()
	if err := flag.Set("test.parallel", atOnce); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "gpumem-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "gpumem")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build gpumem: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// looksAtSource lists every folder of the source, once. The cache of go test sees what
// tests open, and not what the build opens that they start: without this, it would
// take the results of an older program for those of a changed one.
var looksAtSource = sync.OnceValue(func() error {
	return filepath.WalkDir(filepath.Join("..", "..", ".."), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		return err
	})
})

func TestTheResultsAreThoseOfTheSourceAsItIs(t *testing.T) {
	t.Parallel()
	if err := looksAtSource(); err != nil {
		t.Fatal(err)
	}
}

// The exit codes that are documented.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// outcome is how a call of gpumem ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// gpumem runs the program in dir.
func gpumem(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	return gpumemEnv(t, dir, nil, args...)
}

func gpumemEnv(t *testing.T, dir string, env []string, args ...string) outcome {
	t.Helper()
	if err := looksAtSource(); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("gpumem %v: %v", args, err)
	}
	if strings.Contains(stderr.String(), "the Python agent had") {
		t.Errorf("gpumem %v: a fault of the agent's own: %s", args, stderr.String())
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// readVerdict reads the verdict.json of a run folder.
func readVerdict(t *testing.T, dir string) *verdict.Verdict {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "verdict.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v verdict.Verdict
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("verdict.json: %v", err)
	}
	return &v
}
