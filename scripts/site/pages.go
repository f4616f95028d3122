package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// group is a part of the navigation.
type group struct {
	name  string
	pages []string
}

// groups are the navigation. A page in docs/ that stands in none is an error.
func groups() []group {
	return []group{
		{"Start", []string{"README.md", "docs/install.md", "docs/my-training-grows.md",
			"docs/out-of-memory.md", "docs/reading-a-verdict.md", "docs/faq.md"}},
		{"Tasks", []string{"docs/attach.md", "docs/ci.md", "docs/python.md", "docs/notebooks.md",
			"docs/native-programs.md", "docs/live-screen.md", "docs/containers.md",
			"docs/fleet.md", "docs/mac.md", "docs/tt-metal.md", "docs/investigations.md"}},
		{"Reference", []string{"docs/commands.md", "docs/columns.md", "docs/agent-protocol.md",
			"docs/allocation-server.md", "docs/injection.md", "docs/privacy.md"}},
		{"How good it is", []string{"docs/measurements.md", "docs/compared.md", "docs/limits.md"}},
		{"Project", []string{"CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}},
	}
}

// site is all pages, and the other files that they show or link to.
type site struct {
	root  string
	pages []*page
	files map[string]bool
}

// page is one Markdown file. path is relative to the root, out is its file in the site.
type page struct {
	path, out, title string
	source           []byte
	tree             ast.Node
	anchors          []string
}

func load(root string) (*site, error) {
	s := &site{root: root, files: map[string]bool{}}
	for _, g := range groups() {
		for _, name := range g.pages {
			p, err := s.parse(name)
			if err != nil {
				return nil, err
			}
			s.pages = append(s.pages, p)
		}
	}
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if s.page("docs/"+filepath.Base(f)) == nil {
			return nil, fmt.Errorf("docs/%s stands in no group of the navigation (scripts/site/pages.go)",
				filepath.Base(f))
		}
	}
	return s, nil
}

func (s *site) page(name string) *page {
	i := slices.IndexFunc(s.pages, func(p *page) bool { return p.path == name })
	if i < 0 {
		return nil
	}
	return s.pages[i]
}

// markdown reads what GitHub reads, as far as the pages use it.
func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

func (s *site) parse(name string) (*page, error) {
	source, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	out := strings.TrimSuffix(path.Base(name), ".md") + ".html"
	p := &page{path: name, source: source, out: out, title: name}
	if name == "README.md" {
		p.out = "index.html"
	}
	context := parser.NewContext(parser.WithIDs(&anchors{}))
	p.tree = markdown().Parser().Parse(text.NewReader(source), parser.WithContext(context))
	err = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			if id, ok := h.AttributeString("id"); ok {
				p.anchors = append(p.anchors, string(id.([]byte)))
			}
			if h.Level == 1 {
				p.title = plain(h, source)
			}
		}
		return ast.WalkContinue, nil
	})
	return p, err
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
			continue
		}
		b.WriteString(plain(c, source))
	}
	return b.String()
}

// anchors makes the names that GitHub gives to headings.
type anchors struct{ used []string }

func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(string(value)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	id := b.String()
	for n := 1; slices.Contains(a.used, id); n++ {
		id = fmt.Sprintf("%s-%d", b.String(), n)
	}
	a.used = append(a.used, id)
	return []byte(id)
}

func (a *anchors) Put(value []byte) { a.used = append(a.used, string(value)) }

// render is a page's HTML, with links that hold inside the site.
func (s *site) render(p *page) ([]byte, error) {
	err := ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				n.Destination = []byte(s.inside(p, string(n.Destination)))
			}
		case *ast.Image:
			if entering {
				n.Destination = []byte(s.inside(p, string(n.Destination)))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = markdown().Renderer().Render(&b, p.source, p.tree)
	return b.Bytes(), err
}

// inside is where a link of a page leads in the site. Other files go along into
// files/; a folder of the repository has no place there and leads to where it is
// spoken of: the top of the page.
func (s *site) inside(p *page, link string) string {
	if outside(link) || strings.HasPrefix(link, "#") {
		return link
	}
	file, anchor, has := strings.Cut(link, "#")
	name := path.Join(path.Dir(p.path), file)
	if has {
		anchor = "#" + anchor
	}
	if q := s.page(name); q != nil {
		return q.out + anchor
	}
	if info, err := os.Stat(filepath.Join(s.root, name)); err != nil || info.IsDir() {
		return "#"
	}
	s.files[name] = true
	return "files/" + name
}
