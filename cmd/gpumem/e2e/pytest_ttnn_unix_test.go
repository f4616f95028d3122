//go:build unix

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ttnnTests runs the tests of testdata/ttnn, whose ttnn is a stub, and returns what
// pytest printed.
func ttnnTests(t *testing.T, socket string, env ...string) string {
	t.Helper()
	if exec.Command("python3", "-c", "import pytest").Run() != nil {
		t.Skip("python3 here has no pytest; scripts/test.sh installs it by name")
	}
	dir, err := filepath.Abs(filepath.Join("testdata", "ttnn"))
	if err != nil {
		t.Fatal(err)
	}
	env = append([]string{"TT_STUB_SOCKET=" + socket, "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONPATH=" + dir}, env...)
	got := gpumemEnv(t, dir, env, "pytest", "--", "-q", "-rA", "-p", "no:cacheprovider",
		"--gpumem-socket", socket, "--gpumem-wait", "0.1", "test_buffers.py")
	return got.stdout + got.stderr
}

func TestBuffersThatAreMoreAfterEachRunFailATestOfTtnn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	socket := filepath.Join(t.TempDir(), "s")
	server := exec.Command(binary, "serve", "-q", "--socket", socket)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	for range 100 {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	out := ttnnTests(t, socket, "TT_ALLOC_TRACKING_ENABLED=1")
	for name, want := range map[string]string{
		"test_frees_what_it_takes": "PASSED", "test_makes_a_cycle": "PASSED", "test_keeps_a_constant": "PASSED",
		"test_leaks": "FAILED", "test_fails_for_its_own_reason": "FAILED", "test_is_not_asked_for": "PASSED",
	} {
		if !strings.Contains(out, want+" test_buffers.py::"+name) {
			t.Errorf("%s did not end as %s", name, want)
		}
	}
	const grows = "gpumem: buffers remain on the device, more after each of 3 runs: " +
		"6 (6.0 MiB), 9 (9.0 MiB), 12 (12.0 MiB)"
	if !strings.Contains(out, grows) || !strings.Contains(out, "assert 1 == 2") {
		t.Errorf("no sentence %q", grows)
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestWithoutAServerOrTrackingATestOfTtnnSaysWhatToDo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	socket := filepath.Join(t.TempDir(), "nobody")
	for env, want := range map[string]string{
		"TT_ALLOC_TRACKING_ENABLED=1": "gpumem serve --socket " + socket,
		"TT_ALLOC_TRACKING_ENABLED=":  "set TT_ALLOC_TRACKING_ENABLED=1",
	} {
		if out := ttnnTests(t, socket, env, "TT_STUB_SOCKET="); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", env, want, out)
		}
	}
}
