package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// outside reports whether a link leads out of the repository.
func outside(link string) bool {
	return strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:")
}

// dead are the links that lead to no file or no heading, as "page:line: link: why".
func (s *site) dead() []string {
	var out []string
	for _, p := range s.pages {
		for _, l := range p.links() {
			if why := s.wrong(p, l.to); why != "" {
				out = append(out, fmt.Sprintf("%s:%d: %s: %s", p.path, l.line, l.to, why))
			}
		}
	}
	return out
}

// link is a link or a picture of a page. A line is that of the paragraph's text.
type link struct {
	to   string
	line int
}

func (p *page) links() []link {
	var out []link
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			out = append(out, link{string(n.Destination), p.line(n)})
		case *ast.Image:
			out = append(out, link{string(n.Destination), p.line(n)})
		}
		return ast.WalkContinue, nil
	})
	return out
}

// line is the line of a node's first text.
func (p *page) line(n ast.Node) int {
	for c := n; c != nil; c = c.FirstChild() {
		if t, ok := c.(*ast.Text); ok {
			return 1 + bytes.Count(p.source[:t.Segment.Start], []byte("\n"))
		}
	}
	return 1
}

// wrong says why a link leads nowhere; empty where it leads somewhere, or to the web.
func (s *site) wrong(p *page, to string) string {
	if outside(to) {
		return ""
	}
	file, anchor, has := strings.Cut(to, "#")
	target := p
	if file != "" {
		name := path.Join(path.Dir(p.path), file)
		if strings.HasPrefix(name, "../") || path.IsAbs(file) {
			return "leads out of the repository"
		}
		if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(name))); err != nil {
			return "no such file"
		}
		target = s.page(name)
	}
	switch {
	case !has:
	case target == nil:
		return "an anchor in a file that is no page"
	case !slices.Contains(target.anchors, anchor):
		return "no such heading in " + target.path
	}
	return ""
}
