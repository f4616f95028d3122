package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAProgramThatRunsAlreadyIsPurgedWhileItIsAttachedTo has a program on the stand-in
// for PyTorch, which an agent enters.
func TestAProgramThatRunsAlreadyIsPurgedWhileItIsAttachedTo(t *testing.T) {
	t.Parallel()
	g := startExhausted(t)
	dir := t.TempDir()
	cmd, text := joined(t, g, dir, "--for", "7s", "--purge-every", "2s")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	receipts, reasons := midRun(t, filepath.Join(dir, "run"))
	if len(receipts) == 0 || len(reasons) == 0 || reasons[0] != "every 2s" {
		t.Errorf("%d receipts, reasons %q\n%s", len(receipts), reasons, text)
	}
	for _, r := range receipts {
		if r.ClaimedBytes == nil {
			t.Errorf("the receipt %+v claims nothing", r)
		}
	}
	got := gpumem(t, dir, "attach", pidOf(g.Cmd), "--purge-every", "1s")
	if got.code != exitUsage || !strings.Contains(got.stderr, "must be 2s or more") {
		t.Errorf("too often: exit code %d\n%s", got.code, got.stderr)
	}
}
