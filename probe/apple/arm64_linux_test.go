//go:build amd64 && !nodl

package apple_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheSameFilesRunOnArm64 runs this package's tests as arm64, the processor
// of Apple's Macs, under an emulator of one process, against stand-ins that a
// cross compiler made.
func TestTheSameFilesRunOnArm64(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	const emulator, compiler = "qemu-aarch64-static", "aarch64-linux-gnu-gcc"
	for name, install := range map[string]string{emulator: "qemu-user-static",
		compiler: "gcc-aarch64-linux-gnu"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s; Debian: apt-get install %s", name, install)
		}
	}
	binary := filepath.Join(t.TempDir(), "apple.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=arm64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tests for arm64: %v\n%s", err, out)
	}
	run := exec.Command(emulator, "-L", "/usr/aarch64-linux-gnu", binary, "-test.v")
	run.Env = append(os.Environ(), "CC="+compiler)
	out, err := run.CombinedOutput()
	if passed := strings.Count(string(out), "--- PASS"); err != nil || passed < 20 {
		t.Fatalf("%d passed, %v\n%s", passed, err, out)
	}
}
