//go:build unix

package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// axe-core finds what keeps people with a screen reader or weak eyes from
// reading a page. Its licence (MPL-2.0) is not one that this tree takes in, so
// the test asks npm for this version and takes nothing but these bytes.
const (
	axeVersion = "4.10.3"
	axeSHA512  = "Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg=="
)

// axe is the script, from the cache of the user or from npm. Without either
// the test is skipped.
func axe(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	name := "axe-core-" + axeVersion + ".tgz"
	kept := filepath.Join(cache, "gpumem-test", name)
	data, err := os.ReadFile(kept)
	if err != nil || !isAxe(data) {
		data = fromNPM(t, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, data, 0o644)); err != nil {
			t.Logf("axe-core is not kept for the next time: %v", err)
		}
	}
	return unpack(t, data, "package/axe.min.js")
}

func isAxe(data []byte) bool {
	sum := sha512.Sum512(data)
	return base64.StdEncoding.EncodeToString(sum[:]) == axeSHA512
}

func fromNPM(t *testing.T, name string) []byte {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		absent(t, "npm is not installed, from which axe-core is fetched")
	}
	dir := t.TempDir()
	cmd := exec.Command(npm, "pack", "--silent", "axe-core@"+axeVersion)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		absent(t, "axe-core cannot be fetched: "+err.Error()+": "+string(out))
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if !isAxe(data) {
		t.Fatal("what npm gave as axe-core " + axeVersion + " has another checksum")
	}
	return data
}

func unpack(t *testing.T, data []byte, wanted string) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if err != nil {
			t.Fatalf("%s: %v", wanted, err)
		}
		if h.Name == wanted {
			text, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}
