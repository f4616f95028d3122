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

func checkBlock(t *testing.T, dir, line, want string) {
	t.Helper()
	got := gpumem(t, dir, fields(line)...)
	if got.code != 0 {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	rest := got.stdout + got.stderr
	for _, expected := range strings.Split(strings.TrimRight(want, "\n"), "\n") {
		var parts []string
		for _, p := range strings.Split(expected, "…") {
			parts = append(parts, regexp.QuoteMeta(p))
		}
		at := regexp.MustCompile(strings.Join(parts, ".*")).FindStringIndex(rest)
		if at == nil {
			t.Errorf("no line %q (in this order) in\n%s%s", expected, got.stdout, got.stderr)
			continue
		}
		rest = rest[at[1]:]
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
