package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

func buildAndTest(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "gpumem-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "gpumem")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build gpumem: %w\n%s", err, out)
	}
	return m.Run(), nil
}

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
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("gpumem %v: %v", args, err)
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
