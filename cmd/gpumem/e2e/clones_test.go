package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheCloneAuditOfAllSixSitesIsInTheVerdictAndInThePage has the sites of the Arc
// plan share weights, each from a function of its own.
func TestTheCloneAuditOfAllSixSitesIsInTheVerdictAndInThePage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	if got := gpumem(t, dir, "run", "-q", "--no-tui", "--out", "a", "generate", "--device=soft", "--targets",
		"--requests=4", "--tokens=3"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	v := readVerdict(t, filepath.Join(dir, "a"))
	page, err := os.ReadFile(filepath.Join(dir, "a", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	text := gpumem(t, dir, "report", "a").stdout
	if !strings.Contains(text, "Clone audit") || !strings.Contains(string(page), "Clone audit") {
		t.Errorf("the report has no clone audit:\n%s", text)
	}
	for _, function := range []string{"getTensor", "buildLayers", "getProperty", "get", "put", "llama"} {
		found := false
		for _, c := range v.Clones {
			if !strings.HasSuffix(c.Site, ")."+function) {
				continue
			}
			found = true
			if c.References < 1 || !strings.Contains(string(page), c.Site) || !strings.Contains(text, c.Site) {
				t.Errorf("%+v is not in the report", c)
			}
		}
		if !found {
			t.Errorf("%s is not among %+v", function, v.Clones)
		}
	}
}

func TestALiveRunRanksItsStatementsByWhatTheyAdd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	if got := gpumemEnv(t, dir, []string{"TL_MEM_TRACE=1"}, "run", "-q", "--no-tui", "--out", "a", "nqueens",
		"--device=soft", "--epochs=150", "--attempts=1", "--fault=no-autorelease-pool"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	text := gpumem(t, dir, "report", "a").stdout
	_, rank, found := strings.Cut(text, "\nStatements\n")
	rank, _, _ = strings.Cut(rank, "\n\n")
	lines := regexp.MustCompile(`(?m)^  nqueens\.go:\d+:1 .*$`).FindAllString(rank, -1)
	// The epochs' statements leave the driver's temporaries behind; that of the loop
	// comes once.
	if !found || len(lines) < 3 || !strings.Contains(lines[0], "+") || !strings.HasSuffix(lines[0], " 150") {
		t.Errorf("statements %q in\n%s", lines, text)
	}
}
