package e2e

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestARunWarnsOfABundleThatAllowsGPUCapture(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script is the program")
	}
	contents := filepath.Join(t.TempDir(), "Painter.app", "Contents")
	program := filepath.Join(contents, "MacOS", "painter")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	plist, err := os.ReadFile(filepath.Join("..", "..", "..", "probe", "apple", "testdata", "Info-binary.plist"))
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{filepath.Join(contents, "Info.plist"): plist,
		program: []byte("#!/bin/sh\n")} {
		if err := standin.WriteProgram(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if got := gpumem(t, dir, "run", "-q", "--out", "r", "--", program); got.code != 0 {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	run, err := record.Open(filepath.Join(dir, "r"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(run.Events, func(e record.Event) bool {
		return e.Kind == record.KindWarning && strings.Contains(e.Text, "MetalCaptureEnabled=true")
	}) {
		t.Errorf("no warning of the capture among %+v", run.Events)
	}
}
