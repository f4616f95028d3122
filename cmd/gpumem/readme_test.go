package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTheReadmesCommandsPrintWhatItSays runs each "$ gpumem" line of the
// README's console blocks and looks for the lines below it, in order, in what
// was printed; "…" stands for anything.
func TestTheReadmesCommandsPrintWhatItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sample := "t_ms,rss_bytes\n"
	for i := range 400 {
		sample += strings.Join([]string{strconv.Itoa(i * 50), strconv.Itoa(100<<20 + i%7*4096)}, ",") + "\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "samples.csv"), []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	ran := 0
	for _, block := range blocks {
		for _, part := range strings.Split(block[1], "$ gpumem ")[1:] {
			line, want, _ := strings.Cut(part, "\n")
			ran++
			t.Run(line, func(t *testing.T) { checkBlock(t, dir, line, want) })
		}
	}
	if ran < 4 {
		t.Errorf("only %d commands were found in the README", ran)
	}
}

// tries is how often a command is run that leaves undecided what has a known
// answer: a machine that is busy with other things can leave a short run so, and
// the answer then asks for another.
const tries = 3

func checkBlock(t *testing.T, dir, line, want string) {
	t.Helper()
	for n := 1; ; n++ {
		got := gpumem(t, dir, fields(line)...)
		text := got.stdout + got.stderr
		missing := missingLine(text, want)
		if missing == "" && got.code == 0 {
			return
		}
		if n == tries || !regexp.MustCompile(`(?m)^undecided`).MatchString(text) {
			t.Errorf("exit code %d, no line %q (in its order) in\n%s", got.code, missing, text)
			return
		}
		t.Logf("once more, since it is undecided:\n%s", text)
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

// fields splits a command line; double quotes hold a word together.
func fields(line string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2])
	}
	return words
}
