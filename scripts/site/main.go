// Command site makes a small static site of the README and the pages in docs/.
// It works offline, without scripts, in light and dark and on a phone.
//
//	site ROOT OUTDIR
//
// It refuses to build when a link leads nowhere: files and anchors are checked,
// addresses of the web are not asked.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
)

var (
	//go:embed page.tmpl
	pageText string
	//go:embed style.css
	styleText []byte
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: site ROOT OUTDIR")
	}
	s, err := load(args[0])
	if err != nil {
		return err
	}
	if dead := s.dead(); len(dead) > 0 {
		return fmt.Errorf("links that lead nowhere:\n  %s", strings.Join(dead, "\n  "))
	}
	return s.write(args[1])
}

// write puts the site into a folder, which is made if it is not there.
func (s *site) write(out string) error {
	tmpl, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "style.css"), styleText, 0o644); err != nil {
		return err
	}
	for _, p := range s.pages {
		if err := s.writePage(tmpl, out, p); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	for file := range s.files {
		if err := copyFile(filepath.Join(s.root, file), filepath.Join(out, "files", file)); err != nil {
			return err
		}
	}
	return nil
}

// view is what the template sees.
type view struct {
	Title  string
	Groups []groupView
	Body   template.HTML // made by goldmark, which lets no HTML of the pages through
	Before *entry
	After  *entry
}

type groupView struct {
	Name    string
	Entries []entry
}

type entry struct {
	Title, Href string
	Here        bool
}

func (s *site) writePage(tmpl *template.Template, out string, p *page) error {
	body, err := s.render(p)
	if err != nil {
		return err
	}
	v := view{Title: p.title, Body: template.HTML(body)}
	for _, g := range groups() {
		gv := groupView{Name: g.name}
		for _, path := range g.pages {
			if q := s.page(path); q != nil {
				gv.Entries = append(gv.Entries, entry{q.title, q.out, q == p})
			}
		}
		v.Groups = append(v.Groups, gv)
	}
	for i, q := range s.pages {
		if q == p && i > 0 {
			v.Before = &entry{Title: s.pages[i-1].title, Href: s.pages[i-1].out}
		}
		if q == p && i+1 < len(s.pages) {
			v.After = &entry{Title: s.pages[i+1].title, Href: s.pages[i+1].out}
		}
	}
	f, err := os.Create(filepath.Join(out, p.out))
	if err != nil {
		return err
	}
	if err := tmpl.Execute(f, v); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
