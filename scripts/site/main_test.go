package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestNoLinkOfThePagesIsDead(t *testing.T) {
	t.Parallel()
	s, err := load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.dead() {
		t.Error(d)
	}
	links := 0
	for _, p := range s.pages {
		links += len(p.links())
	}
	if links < 80 {
		t.Errorf("only %d links were looked at", links)
	}
}

func TestADeadLinkIsTold(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"README.md": strings.Join([]string{"# Top", "", "[a](docs/none.md)", "",
		"[b](docs/faq.md#no-such)", "", "[c](docs/faq.md#a-word)", "", "![d](docs/p.svg)", "", "[e](../up.md)", "",
		"[f](https://example.org/x)", "", "[g](#top)", "", "[h](#bottom)"}, "\n"),
		"docs/faq.md": "# FAQ\n\n## A `word`?\n"})
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"README.md:3: docs/none.md: no such file",
		"README.md:5: docs/faq.md#no-such: no such heading in docs/faq.md",
		"README.md:9: docs/p.svg: no such file", "README.md:11: ../up.md: leads out of the repository",
		"README.md:17: #bottom: no such heading in README.md"}
	if got := s.dead(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("dead links:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := run([]string{root, t.TempDir()}); err == nil || !strings.Contains(err.Error(), "docs/none.md") {
		t.Errorf("a site with dead links: %v", err)
	}
}

func TestAPageOutsideOfTheNavigationIsAnError(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"docs/new.md": "# New\n"})
	if _, err := load(root); err == nil || !strings.Contains(err.Error(), "docs/new.md") {
		t.Errorf("load: %v", err)
	}
}

func TestTheSiteWorksOffline(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if err := run([]string{filepath.Join("..", ".."), out}); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(out, "*.html"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("pages: %d, %v", len(pages), err)
	}
	anywhere := regexp.MustCompile(`(?:href|src)="([^"#]*)`)
	for _, p := range pages {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "<script") || strings.Contains(string(text), `src="http`) {
			t.Errorf("%s asks for more than its folder", filepath.Base(p))
		}
		for _, m := range anywhere.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "" || strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(out, m[1])); err != nil {
				t.Errorf("%s: %s is not in the site", filepath.Base(p), m[1])
			}
		}
	}
}

// tree is a folder with every page of the navigation, a heading each, and these.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{}
	for _, g := range groups() {
		for _, name := range g.pages {
			all[name] = "# " + name + "\n"
		}
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
