//go:build linux && amd64

package apple_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal/apple/appletest"
)

// Where Debian's cross compiler has the libraries of arm64, and the emulator of
// one process.
const (
	armLibraries = "/usr/aarch64-linux-gnu"
	armEmulator  = "qemu-aarch64-static"
)

// TestTheSameFilesRunOnArm64 runs this package's tests as arm64, the processor
// of Apple's Macs, under an emulator.
func TestTheSameFilesRunOnArm64(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	for name, install := range map[string]string{
		armEmulator: "qemu-user-static", "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
		"aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
	} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s; Debian: apt-get install %s", name, install)
		}
	}
	dir := t.TempDir()
	library, err := appletest.Make(dir, "arm64")
	must(t, err)
	binary := filepath.Join(dir, "apple.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=arm64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the tests for arm64: %v\n%s", err, out)
	}
	run := exec.Command(armEmulator, "-L", armLibraries, binary, "-test.v", "-test.short")
	run.Env = append(os.Environ(), givenFake+"="+library, emulator+"="+armEmulator+" -L "+armLibraries)
	out, err := run.CombinedOutput()
	passed := strings.Count(string(out), "--- PASS")
	if err != nil || passed < 200 {
		t.Fatalf("%d passed, %v\n%s", passed, err, failures(string(out)))
	}
	t.Logf("%d tests passed on arm64", passed)
}

// failures are the last lines of a log, and before them those that say what
// failed.
func failures(log string) string {
	lines := strings.Split(log, "\n")
	var said []string
	for i, l := range lines {
		if strings.Contains(l, "FAIL") || strings.Contains(l, "_test.go:") || i > len(lines)-40 {
			said = append(said, l)
		}
	}
	return strings.Join(said, "\n")
}
