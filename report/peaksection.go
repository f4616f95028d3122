package report

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// peakSection says what memory was made of at the peak of a profiled window and at
// the end; empty where nothing told.
func peakSection(v *verdict.Verdict) section {
	s := section{id: "peak", title: "What memory is made of"}
	if p := v.Peak; p != nil {
		s.blocks = append(s.blocks, block{text: peakText(p)}, block{charts: []chart{peakChart(p)}},
			block{table: compositionTable("Live at the peak.", p.Categories)},
			block{icicle: peakIcicle(p), table: peakSites(p)})
		if len(p.Left) > 0 {
			s.blocks = append(s.blocks, block{table: leftSites(p)})
		}
		s.blocks = append(s.blocks, modulesBlocks(p)...)
		s.blocks = append(s.blocks, block{text: costText(p)})
	}
	if c := v.Composition; c != nil {
		text := "Live at the end."
		switch {
		case c.Moment == record.MomentMost:
			text = fmt.Sprintf("Live memory at its highest, as far as the program looked: %s into the run.",
				units.Seconds(c.AtMs/1000))
		case c.Incomplete:
			text = "Live at the end; the search for names ended early, so what has no name may be anything."
		}
		s.blocks = append(s.blocks, block{table: compositionTable(text, c.Categories)})
		if c.Rounded != nil && *c.Rounded > 0 {
			text := units.Bytes(*c.Rounded) + " of it is rounding: size classes and pages are larger than " +
				"what was asked for."
			s.blocks = append(s.blocks, block{text: text})
		}
		if c.Whole != nil && c.Beside != nil && *c.Whole+*c.Beside > 0 {
			s.blocks = append(s.blocks, block{text: fmt.Sprintf("The pool keeps %s beside that: %s in "+
				"segments that it can give back, %s in pieces beside live blocks.",
				units.Bytes(*c.Whole+*c.Beside), units.Bytes(*c.Whole), units.Bytes(*c.Beside))})
		}
		const caption = "Live at the end, by the innermost module of the model."
		if t := modulesTable(caption, c.Modules, c.Bytes); t != nil {
			s.blocks = append(s.blocks, block{table: t})
		}
	}
	return s
}

// peakText says when most was live, and whether the allocator counted the same.
func peakText(p *peak.Peak) string {
	text := fmt.Sprintf("The peak came %s into a window of %s after step %s: %s were live.",
		units.Seconds(p.AtMs/1000), countOf(p.Steps, "step", "steps"), units.Count(p.FromStep),
		units.Bytes(p.Bytes))
	switch d := p.Allocator; {
	case d == nil:
	case *d == p.Bytes:
		text += " The allocator's own count agrees."
	default:
		text += fmt.Sprintf(" The most that the allocator has counted since the program began is %s (%s).",
			units.Bytes(*d), units.Growth(float64(*d-p.Bytes)))
	}
	if p.Unexplained != nil && *p.Unexplained != 0 {
		text += fmt.Sprintf(" At the window's end the allocator's count and the replay differ by %s.",
			units.Growth(float64(*p.Unexplained)))
	}
	return text
}

func countOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return units.Count(n) + " " + many
}

// mostPeakSites bounds the lines that are shown.
const mostPeakSites = 12

// peakSites are the lines that had allocated what lived at the peak.
func peakSites(p *peak.Peak) *table {
	return linesTable(lineRows, "Live at the peak, by the line that allocated it.", p.Sites)
}

// leftSites are the lines that had allocated what the window's steps left behind.
func leftSites(p *peak.Peak) *table {
	return linesTable(leftRows, fmt.Sprintf("What stayed of the first %s of the window, by the line that "+
		"allocated it.", countOf(p.LeftSteps, "step", "steps")), p.Left)
}

func linesTable(name, caption string, sites []peak.Site) *table {
	t := &table{name: name, caption: caption,
		head: []column{{title: "line"},
			{title: "what"}, {title: "bytes", right: true}, {title: "count", right: true}}}
	for _, s := range sites[:min(len(sites), mostPeakSites)] {
		t.rows = append(t.rows, []string{clean(s.Site, maxName), clean(s.Category, 60), units.Bytes(s.Bytes),
			units.Count(s.Count)})
	}
	return t
}

// peakIcicle draws what lived at the peak by category, file and line. Lines beyond
// those that are told are one part.
func peakIcicle(p *peak.Peak) *icicle {
	root := &node{partsByNames: map[string]*node{}}
	rest := p.Bytes
	for _, s := range p.Sites {
		rest -= s.Bytes
		if s.Bytes > 0 {
			path := append([]string{clean(s.Category, 60)}, siteParts(s.Site)...)
			root.add(path, float64(s.Bytes), 0, s.Count)
		}
	}
	if rest > 0 && len(p.Sites) > 0 {
		root.add([]string{"other lines"}, float64(rest), 0, 0)
	}
	return root.draw("The peak by category, file and line", "all that lived at the peak")
}

// costText is what the window took.
func costText(p *peak.Peak) string {
	c := p.Cost
	text := fmt.Sprintf("The window took %s of the program's time to switch", units.Seconds(c.SwitchMs/1000))
	if c.ScanMs != nil && c.SnapshotMs != nil {
		text += fmt.Sprintf(" (%s of it to find the tensors, %s for the allocator's list)",
			units.Seconds(*c.ScanMs/1000), units.Seconds(*c.SnapshotMs/1000))
	}
	text += fmt.Sprintf(" and %s beside it to pack; its steps took %s", units.Seconds(c.PackMs/1000),
		units.Seconds(c.StepsMs/1000))
	if c.UsualMs != nil {
		text += fmt.Sprintf(", as many before it %s", units.Seconds(*c.UsualMs/1000))
	}
	return text + "."
}

// peakChart is what lived over the window, by category.
func peakChart(p *peak.Peak) chart {
	c := chart{id: "window", title: "Live memory in the window", bytes: true,
		axis: axis{unit: "s"}, stacked: true}
	all := line{id: "live", label: "all"}
	lines := make([]line, len(p.Categories))
	for i, category := range p.Categories {
		lines[i] = line{id: fmt.Sprintf("part%d", i), label: clean(category.Name, 60)}
	}
	other, more := line{id: fmt.Sprintf("part%d", len(lines)), label: "what the peak does not have"}, false
	for _, m := range p.Timeline {
		c.axis.x = append(c.axis.x, m.Ms/1000)
		sum, rest := 0., 0.
		for i, b := range m.Bytes {
			sum += float64(b)
			if i < len(lines) {
				lines[i].v = append(lines[i].v, float64(b))
			} else {
				rest += float64(b)
			}
		}
		more = more || rest > 0
		other.v = append(other.v, rest)
		all.v = append(all.v, sum)
	}
	if more {
		lines = append(lines, other)
	}
	c.lines = append([]line{all}, lines...)
	return c
}
