package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
)

// DiffFormats are the formats in which a difference can be written.
func DiffFormats() []Format { return []Format{Text, JSON, Markdown} }

// WriteDiff renders what changed from one run to another. base and new are what
// people call the runs. Errors are those of w and a format that is not one of
// DiffFormats. A change within noise is printed as "~".
func WriteDiff(w io.Writer, format Format, base, new string, d *verdict.Difference, o Options) error {
	if d == nil {
		return errors.New("write diff: no difference")
	}
	switch format {
	case Text:
		return writeText(w, newDiffDocument(base, new, d), o)
	case Markdown:
		return writeMarkdown(w, newDiffDocument(base, new, d), o)
	case JSON:
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return fmt.Errorf("write diff: %w", err)
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
	return fmt.Errorf("write diff: format %s is not one of text, json, markdown", format)
}

func newDiffDocument(base, new string, d *verdict.Difference) *document {
	doc := &document{
		title: clean(base, 60) + " → " + clean(new, 60), class: d.Verdict, tier: d.Tier,
		sure: fmt.Sprintf("%.2f", d.Confidence), summary: clean(d.Summary, 2000),
		meaning: "Growth of the second run beyond the first; ~ is within noise.",
	}
	doc.sections = append(doc.sections, section{id: "difference", title: "Difference by account", blocks: []block{
		{text: diffScope(d), table: diffTable(d)},
	}})
	doc.sections = append(doc.sections, section{id: "runs", title: "The two runs", blocks: []block{{pairs: []pair{
		{"base", clean(base, 200) + ": " + clean(summaryOf(d.Base), 600)},
		{"new", clean(new, 200) + ": " + clean(summaryOf(d.New), 600)},
	}}}})
	if len(d.Warnings) > 0 {
		list := make([]string, len(d.Warnings))
		for i, warning := range d.Warnings {
			list[i] = clean(warning, 300)
		}
		doc.sections = append(doc.sections, section{id: "warnings", title: "Warnings", blocks: []block{{list: list}}})
	}
	return doc
}

func summaryOf(v *verdict.Verdict) string {
	if v == nil {
		return unknown
	}
	return v.Summary
}

func diffScope(d *verdict.Difference) string {
	if d.AlignedBy == "" {
		return "The runs have nothing in common that could be compared."
	}
	return fmt.Sprintf("Aligned by %s, over %s %ss that both runs have.", d.AlignedBy, digits(d.Compared), d.AlignedBy)
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
		return unknown
	case spansZero(r.Count):
		return "~"
	}
	return signedCount(int64(r.Count.Value))
}

func spansZero(i *verdict.Interval) bool { return i != nil && i.Low <= 0 && i.High >= 0 }

func signedOpt(b *int64) string {
	if b == nil {
		return unknown
	}
	return signedBytes(float64(*b))
}
