package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

// checkNamed wants what the table in docs/investigations.md says of a fault of
// generate: its holders, all of them in the verdict and one alone in the answer, and the
// file of its line.
func checkNamed(t *testing.T, args []string, v *verdict.Verdict) {
	t.Helper()
	if args[0] != "generate" {
		return
	}
	page, err := os.ReadFile("../../../docs/investigations.md")
	if err != nil {
		t.Fatal(err)
	}
	fault := "none"
	if len(args) > 1 {
		fault = "`" + strings.TrimPrefix(args[1], "--fault=") + "`"
	}
	row := regexp.MustCompile(`(?m)^\| ` + fault +
		` \| ([\w-]+) \| (.*) \| (.*) \| (.*) \|$`).FindStringSubmatch(string(page))
	if fault == "none" && v.Verdict == verdict.None {
		return
	}
	if row == nil {
		t.Fatalf("docs/investigations.md has no row of %s", fault)
	}
	if row[1] != string(v.Verdict) {
		t.Errorf("the page has %s, the verdict is %s", row[1], v.Verdict)
	}
	for _, c := range v.Causes {
		if !strings.Contains(row[2], c.ID) {
			t.Errorf("the page has the causes %s, not %s", row[2], c.ID)
		}
	}
	holders := regexp.MustCompile("`((?:list|map) [^`]+)`").FindAllStringSubmatch(row[3], -1)
	for _, h := range holders {
		if !slices.ContainsFunc(v.Holders, func(r verdict.HolderRow) bool { return r.Path == h[1] }) {
			t.Errorf("%s is not among the holders %+v", h[1], v.Holders)
		}
	}
	if len(holders) == 1 && !strings.Contains(v.Answer, holders[0][1]) {
		t.Errorf("the answer does not name %s: %s", holders[0][1], v.Answer)
	}
	if file, _, named := strings.Cut(row[4], ", "); named && !strings.Contains(v.Answer, file+":") {
		t.Errorf("the answer has no line of %s: %s", file, v.Answer)
	}
}
