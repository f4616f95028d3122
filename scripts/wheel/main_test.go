package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var root = filepath.Join("..", "..")

// build makes a small program for a system, as gpumem is built but without all
// that would make it slow.
func build(t *testing.T, env ...string) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", "-trimpath", "-o", out, source)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", env, err, text)
	}
	return out
}

func TestAWheelHasTheTagThatItsProgramEarns(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"linux/amd64":   "py3-none-musllinux_1_1_x86_64",
		"linux/arm64":   "py3-none-musllinux_1_1_aarch64",
		"darwin/arm64":  "py3-none-macosx_12_0_arm64",
		"windows/amd64": "py3-none-win_amd64",
	} {
		system, machine, _ := strings.Cut(target, "/")
		if got, err := platform(build(t, "GOOS="+system, "GOARCH="+machine)); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", target, got, err, want)
		}
	}
}

func TestAProgramThatNeedsANewerSystemThanItsTagSaysIsRefused(t *testing.T) {
	t.Parallel()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: a program that asks for a newer glibc cannot be made")
	}
	dir := t.TempDir()
	source, out := filepath.Join(dir, "main.c"), filepath.Join(dir, "program")
	// A symbol version that no glibc of 2014 has, whatever this system's is.
	text := `__asm__(".symver gettid, gettid@GLIBC_2.30");
int gettid(void); int main(void) { return gettid() == 0; }`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(cc, "-o", out, source).CombinedOutput(); err != nil {
		t.Skipf("the C library here has no GLIBC_2.30 to link with: %v\n%s", err, said)
	}
	if tag, err := linuxTag(out, "x86_64"); err == nil ||
		!strings.Contains(err.Error(), "manylinux2014 promises") {
		t.Errorf("%q, %v", tag, err)
	}
}

func TestAFileThatIsNoProgramOfGoIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := platform("main_test.go"); err == nil {
		t.Error("a source file was taken for a program")
	}
}

func TestTheSameProgramGivesTheSameWheelTwice(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1795370000")
	program := build(t, "GOOS=linux", "GOARCH=amd64")
	var texts [2][]byte
	for i := range texts {
		file, err := pack(root, t.TempDir(), "0.1.0", program)
		if err != nil {
			t.Fatal(err)
		}
		if texts[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0], texts[1]) {
		t.Error("two wheels of the same program differ")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if _, err := pack(root, t.TempDir(), "0.1.0", program); err == nil {
		t.Error("a date that is none was taken")
	}
}

// members reads a wheel.
func members(t *testing.T, file string) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	found := map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if found[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func TestAWheelRecordsAllThatIsInIt(t *testing.T) {
	t.Parallel()
	file, err := pack(root, t.TempDir(), "0.1.0", build(t, "GOOS=linux", "GOARCH=amd64"))
	if err != nil {
		t.Fatal(err)
	}
	found := members(t, file)
	const info = "gpumem_profiler-0.1.0.dist-info/"
	listed := 0
	for line := range strings.Lines(string(found[info+"RECORD"])) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		listed++
		if fields[0] == info+"RECORD" {
			continue
		}
		sum := sha256.Sum256(found[fields[0]])
		if len(fields) != 3 || fields[1] != "sha256="+base64.RawURLEncoding.EncodeToString(sum[:]) {
			t.Errorf("recorded wrongly: %s", line)
		}
	}
	if listed != len(found) {
		t.Errorf("%d members are recorded of %d", listed, len(found))
	}
	for name, says := range map[string]string{
		info + "METADATA":                                 "Name: gpumem-profiler\n",
		info + "WHEEL":                                    "Tag: py3-none-musllinux_1_1_x86_64\n",
		info + "entry_points.txt":                         "[pytest11]",
		info + "licenses/LICENSE":                         "Apache License",
		"gpumem/__init__.py":                              "def step(",
		"gpumem/_lib/gpumem_agent/holders/ending.py":      "def find(",
		"gpumem_profiler-0.1.0.data/scripts/gpumem":       "\x7fELF",
		"gpumem/_lib/gpumem_agent/frameworks/torch.py":    "",
		"gpumem/_lib/gpumem_agent/frameworks/__init__.py": "",
	} {
		if text, ok := found[name]; !ok || !strings.Contains(string(text), says) {
			t.Errorf("%s: there %v, has no %q", name, ok, says)
		}
	}
	if _, ok := found["gpumem/py.typed"]; !ok {
		t.Error("type checkers are not told that the package has types")
	}
	for name := range found {
		if strings.Contains(name, "__pycache__") || strings.HasPrefix(name, "gpumem_agent/") {
			t.Errorf("%s is in the wheel", name)
		}
	}
}
