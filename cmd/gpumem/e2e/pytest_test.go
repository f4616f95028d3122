package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPytestFailsATestThatKeepsMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	text := `kept = []

def test_keeps():
    kept.append(bytearray(64 << 20))

def test_gives_back():
    bytearray(64 << 20)
`
	if err := os.WriteFile(filepath.Join(dir, "test_memory.py"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := gpumem(t, dir, "pytest", "--", "-q", "-p", "no:cacheprovider", "test_memory.py")
	if strings.Contains(got.stderr+got.stdout, "No module named pytest") {
		t.Skip("python3 here has no pytest; scripts/test.sh installs it by name")
	}
	if got.code != 1 || !strings.Contains(got.stdout, "1 failed, 1 passed") ||
		!strings.Contains(got.stdout, "test_keeps") {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}
