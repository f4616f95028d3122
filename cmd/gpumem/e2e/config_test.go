package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/cmd/gpumem/settings"
)

// placed writes files below a new folder and returns it.
func placed(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAWrongSettingNamesItsPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[tool.gpumem]\ninterval = 20":       "needs a unit",
		"[tool.gpumem]\nintervall = '1s'":    `did you mean "interval"?`,
		"[tool.gpumem]\nout = '/tmp/x'":      "no setting \"out\"",
		"[tool.gpumem]\ninterval = {a = 1}":  "must be a string",
		"[tool.gpumem]\nfail-on = [1]":       "must be a list of strings",
		"[tool.gpumem]\ninterval = ":         "pyproject.toml",
		"[tool.gpumem]\npurge = 'sometimes'": "neither true nor false",
	} {
		dir := placed(t, map[string]string{settings.ProjectFile: text})
		got := gpumemEnv(t, dir, []string{"XDG_CONFIG_HOME=" + dir}, "run", "true")
		if got.code != 2 || !strings.Contains(got.stderr, want) ||
			!strings.Contains(got.stderr, settings.ProjectFile) ||
			strings.Count(strings.TrimSpace(got.stderr), "\n") > 0 {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
