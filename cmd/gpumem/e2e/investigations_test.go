package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryRequirementOfTheInvestigationsNamesWhatShowsIt holds the page to the
// tree: each of the 86 requirements once, with a test that exists or a command.
func TestEveryRequirementOfTheInvestigationsNamesWhatShowsIt(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/investigations.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for prefix, n := range map[string]int{"TLG": 24, "TL": 22, "ML": 19, "TT": 21} {
		for i := range n {
			want[fmt.Sprintf("%s-%02d", prefix, i+1)] = true
		}
	}
	known, test := testsOfTheTree(t), regexp.MustCompile("`((?:Test|Benchmark|Fuzz)[A-Z0-9][A-Za-z0-9]*)`")
	row := regexp.MustCompile(`^\| ([A-Z]+-\d\d) \|`)
	for line := range strings.Lines(string(page)) {
		id := row.FindStringSubmatch(line)
		if id == nil {
			continue
		}
		if !want[id[1]] {
			t.Errorf("%s is no requirement, or stands there twice", id[1])
		}
		delete(want, id[1])
		shown := strings.Split(line, "|")[3]
		names := test.FindAllStringSubmatch(shown, -1)
		if len(names) == 0 && !strings.Contains(shown, "`gpumem ") {
			t.Errorf("%s names neither a test nor a command", id[1])
		}
		for _, name := range names {
			if !known[name[1]] {
				t.Errorf("%s names %s, which does not exist", id[1], name[1])
			}
		}
	}
	for id := range want {
		t.Errorf("%s is not on the page", id)
	}
}

// testsOfTheTree are the names of all tests and benchmarks.
func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	known, name := map[string]bool{}, regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range name.FindAllSubmatch(text, -1) {
			known[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return known
}
