package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestWhatMustNotBeReleasedIsRefused(t *testing.T) {
	t.Parallel()
	good := program{os: "linux", arch: "amd64", cgo: "0", interpreter: "/lib64/ld-linux-x86-64.so.2",
		libraries: []string{"libc.so.6", "libdl.so.2"}}
	static := program{os: "linux", arch: "arm64", cgo: "0", tags: "nodl"}
	mac := program{os: "darwin", arch: "arm64", cgo: "0", libraries: []string{"/usr/lib/libSystem.B.dylib"},
		signed: true}
	for name, c := range map[string]struct {
		p    program
		want string // in the error; "" for none
	}{
		"dynamic":  {good, ""},
		"static":   {static, ""},
		"mac":      {mac, ""},
		"with cgo": {program{os: "linux", cgo: "1", tags: "nodl"}, "built with cgo"},
		"nodl that loads": {program{os: "linux", cgo: "0", tags: "nodl", interpreter: "/lib/ld.so"},
			"not static"},
		"static without the tag": {program{os: "linux", cgo: "0"}, "could not load a GPU driver"},
		"another library": {program{os: "darwin", cgo: "0",
			libraries: []string{"/opt/homebrew/lib/libx.dylib"}}, "libx.dylib"},
		"mac without signature": {program{os: "darwin", arch: "arm64", cgo: "0"}, "signature"},
		"windows with drivers":  {program{os: "windows", cgo: "0"}, "lacks the tag"},
		"windows with a library": {program{os: "windows", cgo: "0", tags: "nodl", libraries: []string{"nvcuda.dll"}},
			"nvcuda.dll"},
	} {
		err := c.p.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestProgramFilesOfEverySystemAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"linux/arm64":   "linux/arm64  linked with nothing: static; tags nodl",
		"darwin/arm64":  "darwin/arm64  linked with /usr/lib/libSystem.B.dylib; from macOS 12.0; tags nodl",
		"windows/amd64": "windows/amd64  linked with kernel32.dll; tags nodl",
	} {
		system, arch, _ := strings.Cut(target, "/")
		out := filepath.Join(dir, system)
		build := exec.Command("go", "build", "-tags", "nodl", "-o", out, source)
		build.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", target, err, text)
		}
		p, err := inspect(out)
		if err != nil || p.String() != want || p.check() != nil {
			t.Errorf("%s: %q, %v, %v, want %q", target, p, err, p.check(), want)
		}
	}
	if _, err := inspect(source); err == nil {
		t.Error("a source file was taken for a program")
	}
}

// TestAReleaseIsLinkedAsItSaysAndRuns builds a part of a release by the script
// itself: both kinds for the system we are on.
func TestAReleaseIsLinkedAsItSaysAndRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("runs what it builds for Linux")
	}
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	out := t.TempDir()
	dynamic := "linux-" + runtime.GOARCH
	cmd := exec.Command("../release.sh", "--programs-only", "--out", out, dynamic, dynamic+"-static")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for file, static := range map[string]bool{"gpumem-" + dynamic: false, "gpumem-" + dynamic + "-static": true} {
		p, err := inspect(filepath.Join(out, file))
		if err != nil || (p.interpreter == "") != static || (len(p.libraries) == 0) != static {
			t.Errorf("%s: %v, %v", file, p, err)
		}
		got, err := exec.Command(filepath.Join(out, file), "version").CombinedOutput()
		if err != nil || !strings.Contains(string(got), "gpumem ") {
			t.Errorf("%s version: %v\n%s", file, err, got)
		}
	}
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if h := sha256.Sum256(b); hex.EncodeToString(h[:]) != sum {
			t.Errorf("the checksum of %s is wrong", name)
		}
		listed++
	}
	if listed != 3 {
		t.Errorf("%d files have checksums, want 2 programs and the licence\n%s", listed, sums)
	}
}

func TestAnUnknownTargetIsRefusedInOneLine(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("../release.sh", "linux-sparc").CombinedOutput()
	if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "linux-amd64") {
		t.Errorf("%v: %s", err, out)
	}
}
