package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAModelThatDoesNotRunIsRefusedBeforeTheRunBegins: one line and nothing else,
// no summary of a pool before it, no run folder behind it.
func TestAModelThatDoesNotRunIsRefusedBeforeTheRunBegins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte("no model, only words\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"generate", "--model", "/none.gguf", "--prompt", "a"}, "--model /none.gguf: no such file"},
		{[]string{"generate", "--model", dir, "--prompt", "a"}, "not a regular file: give the path of a GGUF"},
		{[]string{"generate", "--model", text, "--prompt", "a"}, "not a valid GGUF file: at offset 0"},
		{[]string{"modelload", "--model", "/none.gguf"}, "--model /none.gguf: no such file"},
		{[]string{"modelload", "--model", text}, "not a valid GGUF file"},
		{[]string{"generate", "--tokens", "5000"}, "do not fit in 512 positions"},
	} {
		got := gpumem(t, dir, append([]string{"run", "-q", "--out", "out"}, c.args...)...)
		if got.code != 2 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 ||
			!strings.Contains(got.stderr, c.says) {
			t.Errorf("%v: exit code %d, %q\n%s", c.args, got.code, got.stdout, got.stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
			t.Errorf("%v: there is a run folder", c.args)
		}
	}
}
