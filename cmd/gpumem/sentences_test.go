package main

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateSentences = flag.Bool("update", false, "write testdata/sentences.txt anew")

// TestTheSentencesOfTheProgramAreOnOneList holds the list of all texts of the product
// that have two words or more against testdata/sentences.txt, so that they can be read
// at once, and a change of them is seen. go test ./cmd/gpumem -run Sentences -update
// writes it anew.
func TestTheSentencesOfTheProgramAreOnOneList(t *testing.T) {
	t.Parallel()
	got := sentenceList(t)
	golden := filepath.Join("testdata", "sentences.txt")
	if *updateSentences {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	had := strings.Split(string(want), "\n")
	for _, line := range strings.Split(string(got), "\n") {
		if !slices.Contains(had, line) {
			t.Errorf("new: %s", line)
		}
	}
	t.Error("the list is not that of the program: read the new lines aloud, then " +
		"go test ./cmd/gpumem -run Sentences -update")
}

// TestNoSentenceIsAwkward looks for slips that were made before, in the program and in
// the pages.
func TestNoSentenceIsAwkward(t *testing.T) {
	t.Parallel()
	// Before a sound that is no vowel's, whatever the letter: a unit, a one-time key.
	wrong := regexp.MustCompile(`(?i)\ba (?:[aeio](?:[^n]|n[^e])|u(?:n[^i]|[^ns]))[a-z]+|\band its kin\b|` +
		`\bfor good\b|\bthe the\b|\ba a\b|\bcan not\b`)
	right := regexp.MustCompile(`(?i)\ba (?:one|once|us[ei]|url|uni|uuid|euro)`)
	list, err := os.ReadFile(filepath.Join("testdata", "sentences.txt")) // the test above holds it
	if err != nil {
		t.Fatal(err)
	}
	all := string(list)
	for _, p := range pages(t) {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	for _, line := range strings.Split(all, "\n") {
		for _, m := range wrong.FindAllString(line, -1) {
			if !right.MatchString(m) {
				t.Errorf("%q in %s", m, line)
			}
		}
	}
}

// silent are folders and files whose texts no user of the program reads: tools of
// developers, suites of tests, kernels, and the words that a redacted run may keep.
func silent() []string {
	return []string{".git", "internal/eval", "internal/loader/standin", "scripts", "testdata", "metal/kernels",
		"metal/metaltest", "metal/apple/appletest", "metal/cuda/cudatest", "probe/probetest", "docs",
		"tracer/agent/python/tests", "report/redactwords.go"}
}

// sentenceList has a heading for each folder and a line for each text in it, with "⏎"
// where a line of it ends; "…" stands for what is put in between by +.
func sentenceList(t *testing.T) []byte {
	t.Helper()
	root := filepath.Join("..", "..")
	byFolder := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains(silent(), rel) || slices.Contains(silent(), d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		switch {
		case strings.HasSuffix(rel, "_test.go") || slices.Contains(silent(), rel):
		case strings.HasSuffix(rel, ".go"):
			byFolder[path.Dir(rel)] = append(byFolder[path.Dir(rel)], sentencesOf(t, file)...)
		case strings.HasSuffix(rel, ".py"):
			byFolder[path.Dir(rel)] = append(byFolder[path.Dir(rel)], pythonSentences(t, file)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for f := range byFolder {
		folders = append(folders, f)
	}
	slices.Sort(folders)
	var b bytes.Buffer
	for _, f := range folders {
		lines := byFolder[f]
		slices.Sort(lines)
		lines = slices.Compact(lines)
		if len(lines) > 0 {
			b.WriteString("# " + f + "\n" + strings.Join(lines, "\n") + "\n\n")
		}
	}
	return b.Bytes()
}

// twoWords is what a text for people has; code in another language ends its lines
// with a semicolon or a brace.
var (
	twoWords    = regexp.MustCompile(`[A-Za-z%…,:;)]{2,} [A-Za-z%(…]`)
	foreignCode = regexp.MustCompile(`(?m)[;{]$`)
)

func sentencesOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BinaryExpr:
			if text, ok := spelled(n); ok {
				out = append(out, text)
				return false
			}
		case *ast.BasicLit:
			if text, ok := spelled(n); ok {
				out = append(out, text)
			}
		}
		return true
	})
	return forPeople(out)
}

// forPeople are the texts that somebody reads, each on one line.
func forPeople(texts []string) []string {
	out := slices.DeleteFunc(texts, func(text string) bool {
		return !twoWords.MatchString(text) || foreignCode.MatchString(text)
	})
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "\n", "⏎")
	}
	return out
}

// pythonSentences are the texts of a Python file, without what documents it: those in
// three quotes and after "#". Texts that stand side by side are told one by one.
func pythonSentences(t *testing.T, file string) []string {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?s:""".*?""")|(?m:^\s*#.*$|  # .*$)`).ReplaceAll(source, nil)
	var out []string
	for _, m := range regexp.MustCompile(`"((?:[^"\\\n]|\\.)*)"`).FindAllSubmatch(code, -1) {
		out = append(out, strings.ReplaceAll(string(m[1]), `\n`, "\n"))
	}
	return forPeople(out)
}

// spelled is a text that stands in the source, or a sum of texts; not ok where it has none.
func spelled(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, a := spelled(e.X)
		right, b := spelled(e.Y)
		if e.Op != token.ADD || !a && !b {
			return "", false
		}
		if !a {
			left = "…"
		}
		if !b {
			right = "…"
		}
		return left + right, true
	}
	return "", false
}

// pages are the documents that users read.
// pages are the texts whose commands are run: the README and the pages in docs/.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(found) < 10 {
		t.Fatalf("pages in docs/: %v, %v", found, err)
	}
	return append([]string{filepath.Join("..", "..", "README.md")}, found...)
}
