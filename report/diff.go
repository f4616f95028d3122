package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// DiffFormats are the formats in which a difference can be written.
func DiffFormats() []Format { return []Format{Text, JSON, HTML, Markdown} }

// Side is one of two runs that are compared: what people call it, and its
// samples, which may be nil.
type Side struct {
	Name string
	Run  *record.Run
}

// WriteDiff renders d, what changed from one run to another; d must come from
// these runs. Errors are those of w and a format that is not one of
// DiffFormats. A change within noise is printed as "~".
func WriteDiff(w io.Writer, format Format, base, new Side, d *verdict.Difference, o Options) error {
	if d == nil {
		return errors.New("write diff: no difference")
	}
	switch format {
	case Text:
		return writeText(w, newDiffDocument(base, new, d, o), o)
	case Markdown:
		return writeMarkdown(w, newDiffDocument(base, new, d, o), o)
	case HTML:
		return writeHTML(w, newDiffDocument(base, new, d, o))
	case JSON:
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return fmt.Errorf("write diff: %w", err)
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
	return fmt.Errorf("write diff: format %s is not one of text, json, html, markdown", format)
}

func newDiffDocument(base, new Side, d *verdict.Difference, o Options) *document {
	a, b := sideOf(base, d.Base), sideOf(new, d.New)
	doc := &document{
		title: clean(base.Name, 60) + " → " + clean(new.Name, 60), class: d.Verdict,
		sure: sureText(d.Verdict, d.Tier, d.Confidence), claim: claimText(d.Claim, d.Summary),
		note:     "Growth of the second run beyond the first; ~ is within noise.",
		producer: clean(o.Producer, maxName),
	}
	for _, s := range []section{
		differenceSection(a, b, d),
		changedMemory(a, b, d),
		runsSection(base, new, d),
		changedCauses(d),
		changedSites(a, b),
		changedHolders(a, b),
		changedEnvironment(a, b),
		diffWarnings(d),
		{id: "reproduce", title: "Reproduce",
			blocks: []block{{code: clean(shellLine([]string{"gpumem", "diff", base.Name, new.Name}),
				maxLine)}}},
	} {
		if len(s.blocks) > 0 {
			doc.sections = append(doc.sections, s)
		}
	}
	return doc
}

// judgedSide is a run with its verdict; both are never nil.
type judgedSide struct {
	run *record.Run
	v   *verdict.Verdict
}

func sideOf(s Side, v *verdict.Verdict) judgedSide {
	if v == nil {
		v = &verdict.Verdict{}
	}
	if s.Run == nil || s.Run.Samples == nil {
		one := record.Run{Samples: &record.Samples{}}
		if s.Run != nil {
			one.Meta, one.Events = s.Run.Meta, s.Run.Events
		}
		return judgedSide{&one, v}
	}
	return judgedSide{ofVerdict(s.Run, v), v}
}

func differenceSection(a, b judgedSide, d *verdict.Difference) section {
	s := section{id: "difference", title: "Difference by account"}
	s.blocks = append(s.blocks, block{text: diffScope(d), table: diffTable(d)})
	if charts := diffCharts(a, b, d); len(charts) > 0 {
		s.blocks = append(s.blocks, block{charts: charts})
	}
	return s
}

// runsSection is each run's own verdict.
func runsSection(base, new Side, d *verdict.Difference) section {
	return section{id: "runs", title: "The two runs", blocks: []block{{pairs: []pair{
		{"base", clean(base.Name, maxName) + ": " + clean(summaryOf(d.Base), maxSentence)},
		{"new", clean(new.Name, maxName) + ": " + clean(summaryOf(d.New), maxSentence)},
	}}}}
}

func diffWarnings(d *verdict.Difference) section {
	s := section{id: "warnings", title: "Warnings"}
	var list []string
	for _, warning := range d.Warnings[:min(len(d.Warnings), maxRows)] {
		list = append(list, clean(warning, maxLine))
	}
	if len(list) > 0 {
		s.blocks = []block{{list: list}}
	}
	return s
}

func summaryOf(v *verdict.Verdict) string {
	if v == nil {
		return units.Unknown
	}
	return v.Summary
}

func diffScope(d *verdict.Difference) string {
	if d.AlignedBy == "" {
		return "The runs have nothing in common that could be compared."
	}
	return fmt.Sprintf("Aligned by %s, over %s %ss that both runs have.", d.AlignedBy,
		units.Digits(d.Compared), d.AlignedBy)
}

func diffTable(d *verdict.Difference) *table {
	per := strings.TrimSpace("per " + d.AlignedBy)
	t := &table{caption: "Change of each account", head: []column{
		{title: "account"}, {title: "change", right: true}, {title: per, right: true},
		{title: "count", right: true}, {title: "level", right: true}, {title: "left over", right: true},
	}}
	for _, r := range d.Rows {
		change, unit := "~", "~"
		// A row may be no noise for its count or leftover alone.
		if !r.Noise && !spansZero(r.Growth) {
			change, unit = intervalText(r.Growth), intervalText(r.PerUnit)
		}
		t.rows = append(t.rows, []string{
			string(r.Account), change, unit, diffCount(r), signedOpt(r.Level), signedOpt(r.LeftoverBytes),
		})
	}
	return t
}

// diffCount is the change of a number of handles.
func diffCount(r verdict.DiffRow) string {
	switch {
	case r.Count == nil:
		return units.Unknown
	case spansZero(r.Count):
		return "~"
	}
	return units.CountGrowth(int64(r.Count.Value))
}

func spansZero(i *verdict.Interval) bool { return i != nil && i.Low <= 0 && i.High >= 0 }

func signedOpt(b *int64) string {
	if b == nil {
		return units.Unknown
	}
	return units.Growth(float64(*b))
}
