package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/verdict"
)

// truth is what the head of a program says of it.
type truth struct {
	name, path string
	ticket     string
	class      verdict.Class
	holders    []string // words of which the holder's path has one; none where Python has none
	causes     []string // of which one is right
	// "file.py:12": those that ask for what stays, marked with "# grows", and those that hand
	// it to its holder, marked with "# keeps".
	lines []string
	jax   bool // or MLX, which is installed beside it
}

// faulty reports whether the program leaks.
func (t *truth) faulty() bool { return t.class != verdict.None }

// readTruths reads the heads of all programs of a folder.
func readTruths(dir string) ([]truth, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.py"))
	if err != nil {
		return nil, err
	}
	var out []truth
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		t := parseTruth(path, string(text))
		if t.ticket == "" || t.class == "" {
			return nil, fmt.Errorf("%s has no ticket or no class in its head", path)
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no programs", dir)
	}
	return out, nil
}

// marked matches a line with one of the two marks at its end, or both.
var marked = regexp.MustCompile(`# (?:grows|keeps|grows keeps)$`)

// parseTruth reads the head of one program.
func parseTruth(path, text string) truth {
	base := filepath.Base(path)
	t := truth{name: strings.TrimSuffix(base, ".py"), path: path,
		jax: hasAny(text, []string{"\nimport jax\n", "\nimport mlx."})}
	_, head, _ := strings.Cut(text, `"""`)
	head, _, _ = strings.Cut(head, `"""`)
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if value == "-" { // there is none
			continue
		}
		switch key {
		case "ticket":
			t.ticket = value
		case "class":
			t.class = verdict.Class(value)
		case "holder":
			t.holders = strings.Fields(value)
		case "cause":
			for word := range strings.FieldsSeq(value) {
				t.causes = append(t.causes, append(sameAs(word), word)...)
			}
		}
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if marked.MatchString(strings.TrimSpace(line)) {
			t.lines = append(t.lines, fmt.Sprintf("%s:%d", base, n))
		}
	}
	return t
}

// sameAs are the causes of the catalogue that say what a word of a program's head says, or a
// particular kind of it: who writes a program does not know the catalogue.
func sameAs(word string) []string {
	return map[string][]string{
		"buffer-without-bound":     {cause.Results, cause.Entries},
		"results-kept":             {cause.Buffers, cause.Futures, cause.Entries},
		"cache-without-bound":      {cause.Compile, cause.Modules, cause.Entries},
		"sessions-kept":            {cause.Entries},
		"closure-kept":             {cause.Callbacks},
		"compiled-functions-kept":  {cause.GraphPools},
		"exception-kept":           {cause.Tracebacks},
		"driver-memory-kept":       {cause.OwnPools},
		"fragmentation":            {cause.PoolFragmented, cause.Fragmented, cause.Misses},
		"handle-leak":              {cause.Workspaces, cause.Asked},
		"modules-made-at-run-time": {cause.Compiled}, // modules of a device, that is
		"pinned-kept":              {cause.Pinned},
		"pool-for-each-stream":     {cause.OwnPools},
		"pool-never-trims":         {cause.OwnPools},
		"threads-kept":             {cause.Threads},
	}[word]
}

// score is what of a verdict is right.
type score struct {
	class, holder, headline, line, cause, next bool
	got                                        verdict.Class
}

// judge compares a verdict with the truth.
func (t *truth) judge(v *verdict.Verdict) score {
	s := score{got: v.Verdict, class: v.Verdict == t.class, next: v.Next != ""}
	for i, h := range v.Holders {
		s.holder = s.holder || i < 3 && hasAny(h.Path, t.holders)
	}
	s.headline = hasAny(v.Answer, t.holders)
	s.line = hasAny(v.Answer, t.lines)
	s.cause = len(v.Causes) > 0 && slices.Contains(t.causes, v.Causes[0].ID)
	return s
}

// hasAny reports whether a text has one of some words in it.
func hasAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
