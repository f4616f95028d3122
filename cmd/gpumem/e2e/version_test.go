package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestVersionPrintsOneLineAndTheSameAsJSON(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^## (\S+)`).FindStringSubmatch(string(text))
	if first == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	release := first[1]
	line := gpumem(t, t.TempDir(), "version")
	if line.code != 0 || !strings.HasPrefix(line.stdout, "gpumem "+release+" (commit ") ||
		strings.Count(line.stdout, "\n") != 1 {
		t.Errorf("exit code %d, %q", line.code, line.stdout)
	}
	got := gpumem(t, t.TempDir(), "version", "--json")
	var v struct{ Version, Go string }
	if err := json.Unmarshal([]byte(got.stdout), &v); err != nil || v.Version != release || v.Go == "" {
		t.Errorf("%v: %s", err, got.stdout)
	}
}
