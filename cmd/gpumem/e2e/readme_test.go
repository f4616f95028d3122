package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pages are the texts whose commands are run: the README and the pages in docs/.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "*.md"))
	if err != nil || len(found) < 10 {
		t.Fatalf("pages in docs/: %v, %v", found, err)
	}
	return append([]string{filepath.Join("..", "..", "..", "README.md")}, found...)
}

// TestTheCommandsOfThePagesPrintWhatTheySay runs each "$ gpumem" line of the
// console blocks and looks for the lines below it, in order, in what was printed;
// "…" stands for anything. In a block "console figures" the text below is all that was
// printed, with whatever figures, units and breaks between words.
func TestTheCommandsOfThePagesPrintWhatTheySay(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	t.Parallel()
	dir := pageFolder(t)
	ran, printed := 0, map[string]outcome{}
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := regexp.MustCompile("(?s)```console( figures)?\n(.*?)```").FindAllStringSubmatch(string(text), -1)
		for _, block := range blocks {
			for _, part := range strings.Split(block[2], "$ gpumem ")[1:] {
				line, want, _ := strings.Cut(part, "\n")
				ran++
				match := missingLine
				if block[1] != "" {
					match = differs
				}
				t.Run(filepath.Base(page)+": "+line, func(t *testing.T) { checkBlock(t, printed, dir, line, want, match) })
			}
		}
	}
	if ran < 8 {
		t.Errorf("only %d commands were found in the pages", ran)
	}
}

// The script that the README shows is the one that it runs.
func TestTheReadmeShowsTheScriptThatLeaks(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "examples", "leak.py"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(readme, append([]byte("```python\n"), append(script, "```\n"...)...)) {
		t.Error("the README does not show docs/examples/leak.py as it is")
	}
}

// pageFolder is a folder with the files that the commands of the pages name.
func pageFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sample := "t_ms,rss_bytes\n"
	for i := range 400 {
		sample += strings.Join([]string{strconv.Itoa(i * 50), strconv.Itoa(100<<20 + i%7*4096)}, ",") + "\n"
	}
	examples := filepath.Join(dir, "docs", "examples")
	if err := os.MkdirAll(examples, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(examples, os.DirFS(filepath.Join("..", "..", "..", "docs", "examples"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "samples.csv"), []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pythonPath is a PATH on which python is the interpreter that has PyTorch.
func pythonPath(t *testing.T) string {
	t.Helper()
	python := os.Getenv("GPUMEM_TEST_TORCH")
	if python == "" {
		t.Skip("needs a python with PyTorch, which GPUMEM_TEST_TORCH names and scripts/test.sh installs")
	}
	dir := t.TempDir()
	if err := os.Symlink(python, filepath.Join(dir, "python")); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

// pauses is the warning of a machine that held gpumem up.
var pauses = regexp.MustCompile(`(?m)^warning: [0-9]+ pauses? in the recording.*\n`)

// leftOpen matches what a recording leaves open on a busy machine: the verdict, or who touched
// most of the new pages, where the program was still loading its code in that time.
var leftOpen = regexp.MustCompile(`(?m)^undecided|first\s+touched\s+by\s+\S+\s+\([1-4]?[0-9] %\)`)

// checkBlock runs a command, unless another page had it run: then what it printed is
// held against this page's text too.
func checkBlock(t *testing.T, printed map[string]outcome, dir, line, want string,
	match func(text, want string) string) {
	t.Helper()
	var env []string
	if strings.Contains(line, " python ") {
		env = append(env, pythonPath(t))
	}
	for n := 1; ; n++ {
		got, ran := printed[line]
		if !ran || n > 1 {
			got = gpumemEnv(t, dir, env, fields(line)...)
			printed[line] = got
		}
		text := got.stdout + got.stderr
		missing := match(pauses.ReplaceAllString(text, ""), want)
		if missing == "" && got.code == 0 {
			return
		}
		if n == tries || !leftOpen.MatchString(text) {
			t.Errorf("exit code %d, no line %q (in its order) in\n%s", got.code, missing, text)
			return
		}
		t.Logf("once more, since it leaves something open:\n%s", text)
	}
}

// missingLine is the first line of want that text does not have after those
// before it, empty when it has all.
func missingLine(text, want string) string {
	for _, expected := range strings.Split(strings.TrimRight(want, "\n"), "\n") {
		var parts []string
		for _, p := range strings.Split(expected, "…") {
			parts = append(parts, regexp.QuoteMeta(p))
		}
		at := regexp.MustCompile(strings.Join(parts, ".*")).FindStringIndex(text)
		if at == nil {
			return expected
		}
		text = text[at[1]:]
	}
	return ""
}

// differs is want when text is not the same apart from figures, their units, how sure
// the verdict is, the breaks between words, and "…"; else empty. A system that lets
// nobody watch page faults tells nothing of first touches.
func differs(text, want string) string {
	expected := want
	if !strings.Contains(text, "first touched") {
		expected = regexp.MustCompile(`(?s), its\s+new\s+pages\s+first\s+touched.*?%\)`).ReplaceAllString(want, "")
	}
	var words []string
	for _, w := range strings.Fields(expected) {
		w = regexp.QuoteMeta(w)
		w = regexp.MustCompile(`[0-9]+(\\\.[0-9]+)?`).ReplaceAllString(w, `[0-9]+(\.[0-9]+)?`)
		w = regexp.MustCompile(`^(B|KiB|MiB|GiB)`).ReplaceAllString(w, `(B|KiB|MiB|GiB)`)
		w = regexp.MustCompile(`confirmed|likely|suspected`).ReplaceAllString(w, `(confirmed|likely|suspected)`)
		w = regexp.MustCompile(`─+`).ReplaceAllString(w, `─+`)
		words = append(words, strings.ReplaceAll(w, "…", `\S*`))
	}
	if regexp.MustCompile(`^\s*` + strings.Join(words, `\s+`) + `\s*$`).MatchString(text) {
		return ""
	}
	return want
}

// The comparison lets figures differ, and nothing else.
func TestABlockWithFiguresMayDifferInFiguresOnly(t *testing.T) {
	t.Parallel()
	const want = "host-growth (confirmed, 99 %): grows by 198.79 MiB, its\nnew pages first touched by libx (99 %)" +
		"; cause: a.\n" +
		"  host  +200 MiB  growing\n  ────\nReport: gpumem-…/report.html\n"
	for text, same := range map[string]bool{
		want: true,
		"host-growth (likely, 81 %): grows by 2 GiB, its new\npages first touched by libx (7 %); cause: a.\n" +
			" host +1.5 KiB growing\n ──────\nReport: gpumem-x-1Z/report.html": true,
		strings.Replace(want, ", its\nnew pages first touched by libx (99 %)", "", 1): true,
		strings.Replace(want, "growing", "flat", 1):                                   false,
		strings.Replace(want, "cause: a", "cause: b", 1):                              false,
		want + "more": false,
		"":            false,
	} {
		if got := differs(text, want) == ""; got != same {
			t.Errorf("the same: %v, want %v for\n%s", got, same, text)
		}
	}
}

// fields splits a command line; double quotes hold a word together.
func fields(line string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}
