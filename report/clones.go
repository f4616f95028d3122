package report

import (
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
)

// clonesSection is the clone audit: which lines added references.
func clonesSection(v *verdict.Verdict) section {
	s := section{id: "clones", title: "Clone audit"}
	if len(v.Clones) == 0 {
		return s
	}
	t := &table{head: []column{{title: "line"}, {title: "references added", right: true}}}
	for _, c := range v.Clones[:min(len(v.Clones), maxRows)] {
		t.rows = append(t.rows, []string{clean(c.Site, maxName), units.Count(c.References)})
	}
	t.caption = captionOf("References that clones added during the whole run, by the line that cloned",
		len(v.Clones))
	s.blocks = []block{{table: t}}
	return s
}
