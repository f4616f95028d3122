//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// release makes a release of the target in a new folder.
func release(t *testing.T, target string) string {
	t.Helper()
	out := t.TempDir()
	cmd := exec.Command("../release.sh", "--out", out, target)
	// The compiler need not do it again; what links and packs does.
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1795370000")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// one is the only file of a release that fits a pattern.
func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

// TestAReleaseIsInstalledAndComesOutTheSameTwice packs one target by the script.
func TestAReleaseIsInstalledAndComesOutTheSameTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	if runtime.GOOS != "linux" {
		t.Skip("deb and rpm are for Linux")
	}
	target := "linux-" + runtime.GOARCH
	dir := release(t, target)
	for name, check := range map[string]func(*testing.T, string){
		"archive": checkArchive, "deb": checkDeb, "rpm": checkRPM, "bill of materials": checkBill,
	} {
		t.Run(name, func(t *testing.T) { check(t, dir) })
	}
	again := release(t, target)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		a, errA := os.ReadFile(filepath.Join(dir, f.Name()))
		b, errB := os.ReadFile(filepath.Join(again, f.Name()))
		if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs from build to build: %v", f.Name(), err)
		}
	}
}

func checkArchive(t *testing.T, dir string) {
	f, err := os.Open(one(t, dir, "gpumem-*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "gpumem")
	var names []string
	for archive := tar.NewReader(unpacked); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		names = append(names, name)
		if name == "gpumem" {
			text, err := io.ReadAll(archive)
			if err := errors.Join(err, os.WriteFile(program, text, h.FileInfo().Mode())); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []string{"gpumem", "LICENSE", "README.md", "CHANGELOG.md", "man/gpumem-run.1",
		"completions/gpumem.bash", "completions/_gpumem", "completions/gpumem.fish"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in the archive: %q", want, names)
		}
	}
	checkProgram(t, program)
}

// checkProgram runs what was installed.
func checkProgram(t *testing.T, program string) {
	t.Helper()
	out, err := exec.Command(program, "version", "--json").Output()
	var v struct{ Version, Commit string }
	if err := errors.Join(err, json.Unmarshal(out, &v)); err != nil || !strings.HasPrefix(v.Version, "0.") {
		t.Errorf("%v: %s", err, out)
	}
	if head, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil &&
		v.Commit != strings.TrimSpace(string(head)) {
		t.Errorf("commit %q, want %s", v.Commit, head)
	}
}

// installedFiles are what a package has beside the program.
var installedFiles = []string{"usr/share/man/man1/gpumem.1.gz", "usr/share/man/man1/gpumem-run.1.gz",
	"usr/share/bash-completion/completions/gpumem", "usr/share/fish/vendor_completions.d/gpumem.fish",
	"usr/share/doc/gpumem/copyright", "usr/share/doc/gpumem/changelog.gz"}

func checkDeb(t *testing.T, dir string) {
	if found, _ := filepath.Glob(filepath.Join(dir, "*.deb")); len(found) == 0 {
		t.Skip("nfpm cannot be fetched here, so there is no deb")
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("no dpkg here: a deb cannot be installed")
	}
	if os.Geteuid() != 0 {
		t.Skip("dpkg installs for root only, into a folder too")
	}
	deb, root := one(t, dir, "*.deb"), t.TempDir()
	for _, name := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// The folder has no C library for it to depend on; the system has.
	out, err := exec.Command("dpkg", "--root="+root, "--force-depends", "-i", deb).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range append(slices.Clone(installedFiles), "usr/share/zsh/vendor-completions/_gpumem") {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	checkProgram(t, filepath.Join(root, "usr/bin/gpumem"))
}

func checkRPM(t *testing.T, dir string) {
	if found, _ := filepath.Glob(filepath.Join(dir, "*.rpm")); len(found) == 0 {
		t.Skip("nfpm cannot be fetched here, so there is no rpm")
	}
	for _, tool := range []string{"rpm", "rpm2cpio", "cpio"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here: an rpm cannot be looked into", tool)
		}
	}
	file, root := one(t, dir, "*.rpm"), t.TempDir()
	out, err := exec.Command("rpm", "-qlp", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(slices.Clone(installedFiles), "usr/share/zsh/site-functions/_gpumem") {
		if !strings.Contains(string(out), "/"+name+"\n") {
			t.Errorf("no /%s in\n%s", name, out)
		}
	}
	host, err := exec.Command("rpm", "-qp", "--queryformat", "%{BUILDHOST}", file).Output()
	if err != nil || string(host) != "localhost" {
		t.Errorf("it says that it was built on %q, %v", host, err)
	}
	unpack := exec.Command("sh", "-c", `rpm2cpio "$1" | cpio -id --quiet --no-absolute-filenames`, "sh", file)
	unpack.Dir = root
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkProgram(t, filepath.Join(root, "usr/bin/gpumem"))
}

func checkBill(t *testing.T, dir string) {
	text, err := os.ReadFile(one(t, dir, "*.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		BomFormat, SpecVersion string
		Components             []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(text, &b); err != nil || b.BomFormat != "CycloneDX" || b.SpecVersion != "1.6" {
		t.Fatalf("%v: %s %s", err, b.BomFormat, b.SpecVersion)
	}
	seen := map[string]bool{}
	for _, c := range b.Components {
		seen[c.Name] = true
		if c.Version == "" || !strings.HasPrefix(c.Purl, "pkg:golang/"+c.Name+"@") {
			t.Errorf("%+v", c)
		}
	}
	if !seen["std"] || !seen["github.com/spf13/cobra"] || seen["github.com/cpuguy83/go-md2man/v2"] {
		t.Errorf("these are in the program: %v", seen)
	}
}

// No daemon builds the image here; these are what is promised of it.
func TestTheImageIsStaticAndRunsAsNobodyInParticular(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "docker", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`(?m)^FROM gcr\.io/distroless/static-debian\d+:nonroot$`,
		`(?m)^COPY .*gpumem-linux-\$\{TARGETARCH\}-static /usr/local/bin/gpumem$`,
		`(?m)^USER [1-9]\d*:[1-9]\d*$`, `(?m)^ENTRYPOINT \["/usr/local/bin/gpumem"\]$`} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("no line %s in\n%s", want, text)
		}
	}
}

func TestTheFormulaHasTheChecksumsOfTheArchives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	formula := func() ([]byte, error) {
		cmd := exec.Command("bash", "-euc", `. ./scripts/packages.sh; formula "$1" 0.1.0`, "bash", dir)
		cmd.Dir = filepath.Join("..", "..")
		return cmd.Output()
	}
	sums := map[string]string{}
	for _, target := range []string{"darwin-arm64", "darwin-amd64", "linux-arm64", "linux-amd64"} {
		if text, err := formula(); err == nil {
			t.Errorf("a formula without the archive of %s:\n%s", target, text)
		}
		name := "gpumem-0.1.0-" + target + ".tar.gz"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(target), 0o600); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(target))
		sums[name] = hex.EncodeToString(sum[:])
	}
	text, err := formula()
	if err != nil {
		t.Fatal(err)
	}
	sum := regexp.MustCompile(`url ".*/v0\.1\.0/(.*)"\n\s+sha256 "(.*)"`)
	found := sum.FindAllStringSubmatch(string(text), -1)
	if len(found) != 4 || strings.Contains(string(text), "@") {
		t.Errorf("%d archives, want 4, in\n%s", len(found), text)
	}
	for _, m := range found {
		if m[2] != sums[m[1]] {
			t.Errorf("%s: checksum %s, want %s", m[1], m[2], sums[m[1]])
		}
	}
}
