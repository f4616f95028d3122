//go:build unix

package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/loader/standin"
)

func TestActionsOfOthersArePinnedByTheirHash(t *testing.T) {
	t.Parallel()
	uses := regexp.MustCompile(`(?m)^[#\s-]*uses:\s*(\S+)`)
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40}$`)
	found := 0
	for _, root := range []string{ciFolder, filepath.Join("..", "..", "..", ".github")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yml" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range uses.FindAllStringSubmatch(string(text), -1) {
				found++
				if own := strings.HasPrefix(m[1], "gpumem/gpumem/"); !own && !pinned.MatchString(m[1]) {
					t.Errorf("%s uses %s: pin it by the hash of a commit", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no action was found")
	}
}

// vulnerable runs the script with a tool that says something and ends with a code.
func vulnerable(t *testing.T, says, code string) (string, error) {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "tool")
	script := "#!/bin/sh\necho '" + says + "'\nexit " + code + "\n"
	if err := standin.WriteProgram(tool, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", filepath.Join("..", "..", "..", "scripts", "vulnerable.sh"))
	cmd.Env = append(os.Environ(), "GOVULNCHECK="+tool)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTheSearchForVulnerabilitiesFailsOnAFindingAndSaysWhenItCannotLook(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	if out, err := vulnerable(t, "No vulnerabilities found.", "0"); err != nil ||
		strings.Count(out, "nothing known") != 3 {
		t.Errorf("nothing found: %v\n%s", err, out)
	}
	if out, err := vulnerable(t, "Vulnerability #1: GO-2000-0001", "3"); err == nil ||
		!strings.Contains(out, "GO-2000-0001") {
		t.Errorf("a finding passes, or is not shown:\n%s", out)
	}
	if out, err := vulnerable(t, "govulncheck: fetching vulnerabilities: no such host", "1"); err != nil ||
		!strings.Contains(out, "govulncheck is not run: no database: govulncheck: fetching vulnerabilities: "+
			"no such host") {
		t.Errorf("without a database: %v\n%s", err, out)
	}
	if out, err := vulnerable(t, "package does not compile", "1"); err == nil {
		t.Errorf("an error of the tool passes:\n%s", out)
	}
}
