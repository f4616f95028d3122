package report

import (
	"slices"
	"strings"
)

// sectionViews are the sections of the page: first what answers, then, folded, what
// tells where and how it was measured, and last what the words mean.
func sectionViews(d *document) ([]sectionView, error) {
	var open, folded []sectionView
	words := sectionView{ID: "glossary", Title: "Glossary", Folded: true}
	for _, s := range d.sections {
		view := sectionView{ID: s.id, Title: s.title, Folded: s.folded}
		for _, b := range s.blocks {
			if len(b.charts) > 0 {
				b = withoutLead(b, d.first)
			}
			bv, err := viewOf(b, d)
			switch {
			case err != nil:
				return nil, err
			case len(b.charts) == 0 && b.folded != "":
				continue // all its charts are shown elsewhere
			case b.glossary:
				words.Blocks = append(words.Blocks, bv)
				continue
			}
			view.Blocks = append(view.Blocks, bv)
		}
		switch {
		case len(view.Blocks) == 0:
		case view.Folded:
			folded = append(folded, view)
		default:
			open = append(open, view)
		}
	}
	if len(words.Blocks) > 0 {
		folded = append(folded, words)
	}
	return append(open, folded...), nil
}

// withoutLead leaves of a block the charts that the page does not begin with. Its
// summary names them.
func withoutLead(b block, lead *chart) block {
	b.charts = slices.DeleteFunc(slices.Clone(b.charts), func(c chart) bool {
		return lead != nil && c.id == lead.id
	})
	if b.folded == "" || len(b.charts) == 0 || b.charts[0].title == b.folded {
		return b
	}
	var titles []string
	for i := range b.charts {
		b.charts[i].explained = i > 0
		titles = append(titles, lowerFirst(b.charts[i].title))
	}
	b.folded += ": " + strings.Join(titles, ", ")
	return b
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// moves says whether a section has a chart that a script draws.
func (s sectionView) moves() bool {
	return slices.ContainsFunc(s.Blocks, func(b blockView) bool { return len(b.Plots) > 0 || b.Stack != nil })
}
