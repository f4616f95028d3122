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

// TestWhatThePageOfTheInvestigationsNamesIsThere holds everything that the page says
// can be run to the tree: tests in its text and its notes, commands with their flags
// and policies, and scripts.
func TestWhatThePageOfTheInvestigationsNamesIsThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/investigations.md")
	if err != nil {
		t.Fatal(err)
	}
	known, dir := testsOfTheTree(t), t.TempDir()
	policies := gpumem(t, dir, "workloads").stdout
	_, policies, _ = strings.Cut(policies, "pool policies")
	test := regexp.MustCompile(`^(?:Test|Benchmark|Fuzz)[A-Z0-9]\w*$`)
	found := map[string]int{}
	for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(string(page), -1) {
		words := strings.Fields(span[1])
		for len(words) > 1 && strings.Contains(words[0], "=") {
			words = words[1:] // variables of the command
		}
		switch {
		case test.MatchString(words[0]):
			found["test"]++
			if !known[words[0]] {
				t.Errorf("the page names %s, which does not exist", words[0])
			}
		case words[0] == "gpumem" && len(words) > 1:
			found["command"]++
			if why := refused(t, dir, words[1:], policies); why != "" {
				t.Errorf("the page names `%s`: %s", span[1], why)
			}
		case strings.HasPrefix(words[0], "scripts/"):
			found["script"]++
			if _, err := os.Stat(filepath.Join("../../..", words[0])); err != nil {
				t.Error(err)
			}
		}
	}
	if found["test"] < 150 || found["command"] < 15 || found["script"] < 1 {
		t.Errorf("the page names %v: this test reads it no more", found)
	}
}

// refused says why a command would not begin; its help is asked for, so that it does
// not.
func refused(t *testing.T, dir string, args []string, policies string) string {
	t.Helper()
	for i, arg := range args[1:] {
		if arg == "--policy" && (i+2 >= len(args) || !strings.Contains(policies, "\n    "+args[i+2]+" ")) {
			return "it has no such policy"
		}
	}
	got := gpumem(t, dir, append(args, "--help")...)
	if got.code != 0 {
		return got.stderr
	}
	if got.stdout == gpumem(t, dir, "--help").stdout {
		return "there is no such command"
	}
	return ""
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
