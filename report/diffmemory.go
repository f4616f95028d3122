package report

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
)

// changedMemory compares what the two runs' memory is made of, and which lines had
// allocated it; empty where neither run tells.
func changedMemory(a, b judgedSide, d *verdict.Difference) section {
	s := section{id: "memory", title: "What memory is made of"}
	if c := d.Peak; c != nil {
		s.blocks = append(s.blocks, block{text: comparedText(c), table: comparedTable(c)})
		if t := changedPeakLines(a.v.Peak, b.v.Peak); t != nil {
			s.blocks = append(s.blocks, block{table: t})
		}
	} else if text := onlyOne(a.v, b.v); text != "" {
		s.blocks = append(s.blocks, block{text: text})
	}
	if c := d.Composition; c != nil {
		s.blocks = append(s.blocks, block{text: comparedText(c), table: comparedTable(c)})
	}
	return s
}

// onlyOne says that the peaks cannot be compared because one run does not tell its own.
func onlyOne(base, new *verdict.Verdict) string {
	switch {
	case base.Peak != nil && new.Peak == nil:
		return "The peaks cannot be compared: the new run has no profiled window."
	case base.Peak == nil && new.Peak != nil:
		return "The peaks cannot be compared: the base run has no profiled window."
	}
	return ""
}

// comparedText says in a sentence how the sums differ, and what makes most of it.
func comparedText(c *peak.Comparison) string {
	when := upperFirst(c.NewMoment)
	text := fmt.Sprintf("%s %s are live, as many as before", when, units.Bytes(c.NewBytes))
	if c.NewBytes != c.BaseBytes {
		more := "more"
		if c.NewBytes < c.BaseBytes {
			more = "less"
		}
		text = fmt.Sprintf("%s %s are live, %s %s than before", when, units.Bytes(c.NewBytes),
			units.Bytes(max(c.NewBytes-c.BaseBytes, c.BaseBytes-c.NewBytes)), more)
	}
	if c.BaseMoment != c.NewMoment {
		text += fmt.Sprintf(" (the base run %s)", c.BaseMoment)
	}
	if parts := largestChanges(c); parts != "" {
		text += ": " + parts
	}
	if c.Incomplete {
		text += "; a search for names ended early, so what has no name may be anything"
	}
	return text + "."
}

// largestChanges names the categories that make most of the difference.
func largestChanges(c *peak.Comparison) string {
	const most = 3
	var parts []string
	for _, p := range c.Categories[:min(len(c.Categories), most)] {
		if p.Change != "same" {
			parts = append(parts, clean(p.Name, 60)+" "+units.Growth(float64(p.New-p.Base)))
		}
	}
	return strings.Join(parts, ", ")
}

// comparedTable has a row a category, largest difference first.
func comparedTable(c *peak.Comparison) *table {
	t := &table{caption: "Live memory " + c.NewMoment + ", by what it is.", zeros: "Nothing",
		head: []column{{title: "what"}, {title: "in new"}, {title: "base", right: true},
			{title: "new", right: true}, {title: "difference", right: true}}}
	if c.BaseMoment != c.NewMoment {
		t.caption = fmt.Sprintf("Live memory of the new run %s, of the base run %s.",
			c.NewMoment, c.BaseMoment)
	}
	for _, p := range c.Categories[:min(len(c.Categories), maxRows)] {
		t.rows = append(t.rows, []string{clean(p.Name, 60), p.Change, units.Bytes(p.Base), units.Bytes(p.New),
			units.Growth(float64(p.New - p.Base))})
	}
	t.foot = [][]string{{"sum", "", units.Bytes(c.BaseBytes), units.Bytes(c.NewBytes),
		units.Growth(float64(c.NewBytes - c.BaseBytes))}}
	return t
}

// changedPeakLines are the lines that had allocated more or less at the peak; nil
// unless both runs have a window.
func changedPeakLines(base, new *peak.Peak) *table {
	if base == nil || new == nil {
		return nil
	}
	d := changes{at: map[string]int{}}
	lasting := func(s peak.Site) string { return withoutLine(s.Site) + ", " + s.Category }
	for _, s := range base.EverySite() {
		d.base(s.Site+", "+s.Category, lasting(s), s.Bytes, s.Count)
	}
	for _, s := range new.EverySite() {
		d.new(s.Site+", "+s.Category, lasting(s), s.Bytes, s.Count)
	}
	return changedTable("Live at the peak, by the line that allocated it.", "line", d.sorted())
}
