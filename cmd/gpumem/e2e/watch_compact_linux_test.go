package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestTheCompactWatchOpensTheRecordingThatGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := exec.Command(binary, "run", "--no-tui", "-q", "generate", "--requests", "1000000", "--device",
		"soft")
	run.Dir = dir
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // its program lives on when it is killed, and not when it is asked to end
		run.Process.Signal(os.Interrupt)
		run.Wait()
	})
	until(t, "a line of what the recording's program holds", func() bool {
		got := gpumem(t, dir, "watch", "--compact", "--samples", "1")
		return got.code == 0 && strings.Contains(got.stdout, " MB  ") &&
			strings.HasSuffix(got.stdout, " buffers\n")
	})
}
