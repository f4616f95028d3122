package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestARunIsExportedToEveryFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := gpumem(t, dir, "run", "-q", "--out", "out", "nqueens", "--epochs", "300",
		"--fault", "uncut-graph"); got.code != 0 {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	for format, begins := range map[string]string{
		"pprof": "\x1f\x8b", "memory_viz": "\x80\x04", "perfetto": `{"displayTimeUnit"`, "parquet": "PAR1",
		"openmetrics": "# TYPE gpumem_", "junit": "<?xml", "sarif": "{\n  \"$schema\"",
	} {
		file := filepath.Join(dir, "x."+format)
		got := gpumem(t, dir, "export", "out", "--to", format, "-o", file)
		text, err := os.ReadFile(file)
		if got.code != 0 || err != nil || !bytes.HasPrefix(text, []byte(begins)) {
			t.Errorf("%s: exit code %d, %v, begins %q\n%s", format, got.code,
				err, text[:min(20, len(text))], got.stderr)
		}
		if got := gpumem(t, dir, "export", "out", "--to", format, "-o", "-"); got.code != 0 ||
			got.stdout != string(text) {
			t.Errorf("%s: exit code %d, %d bytes on stdout, %d in the file", format, got.code,
				len(got.stdout), len(text))
		}
		if got := gpumem(t, dir, "export", "out", "--to", format, "-o", file); got.code != 1 ||
			!strings.Contains(got.stderr, "--force") {
			t.Errorf("%s: a file was overwritten: exit code %d, %s", format, got.code, got.stderr)
		}
	}
	// What goes out as a snapshot comes in as the same memory.
	got := gpumem(t, dir, "import", "x.memory_viz", "--out", "back", "--format", "csv")
	if got.code != 0 || !strings.Contains(got.stdout, "pool_live_bytes") {
		t.Errorf("exit code %d\n%s", got.code, got.stderr)
	}
}

func TestWhatCannotBeExportedEndsInOneLineAndLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "host.csv"), []byte("step,rss_bytes\n1,5\n2,6\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"host.csv"}, 2, "one of pprof, memory_viz"},
		{[]string{"host.csv", "--to", "parket"}, 2, `did you mean "parquet"?`},
		{[]string{"--to", "junit"}, 2, "takes one run"},
		{[]string{"missing", "--to", "junit"}, 1, "does not exist"},
		{[]string{"host.csv", "--to", "memory_viz", "-o", "x"}, 1, "no device memory"},
		{[]string{"host.csv", "--to", "perfetto", "-o", "x"}, 1, "has no times"},
		{[]string{"host.csv", "--to", "pprof"}, 1, "no allocation sites"},
		{[]string{"host.csv", "--to", "junit", "--unified", "maybe"}, 2, "auto, yes or no"},
	} {
		got := gpumem(t, dir, append([]string{"export"}, c.args...)...)
		if got.code != c.code || strings.Count(got.stderr, "\n") != 1 ||
			!strings.Contains(got.stderr, c.want) || got.stdout != "" {
			t.Errorf("export %v: exit code %d (want %d), stdout %q, stderr %q (want one line with %q)",
				c.args, got.code, c.code, got.stdout, got.stderr, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a refused export left a file")
	}
}
