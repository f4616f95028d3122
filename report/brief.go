package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// nextTitle stands before what to do first.
const nextTitle = "What to do:"

// writeBrief writes what a reader needs who just wants the answer: the sentence, what
// to do first, and the accounts. Where nothing grows, the sentence has said it all.
func writeBrief(w io.Writer, run *record.Run, v *verdict.Verdict, o Options) error {
	t := newTextWriter(w, o)
	d := answerOf(run, v, o)
	d.title = "" // the reader has just started it
	t.head(d)
	if text := caughtText(v.OOM); text != "" {
		t.paragraph(text, "", "")
	}
	for _, text := range leftTexts(v) {
		t.paragraph(text, t.paint(ansiYellow, "left behind: "), "  ")
	}
	if v.Verdict != verdict.None && len(v.Accounts) > 0 {
		t.line("")
		accounts := growthTable(v, briefColumns(v))
		if since := changesSince(v); since != "" && len(accounts.foot) > 0 {
			accounts.foot[0][0] += since
		}
		t.table(accounts)
	}
	shown := min(len(v.Warnings), briefWarnings)
	for _, w := range v.Warnings[:shown] {
		t.paragraph(clean(w, maxLine), t.paint(ansiYellow, "warning: "), "  ")
	}
	if more := len(v.Warnings) - shown; more > 0 {
		t.line(fmt.Sprintf("warnings that only the report has: %d", more))
	}
	return t.out.Flush()
}

// lateChange is the part of the judged time after which the changes begin late enough to say so:
// the sentence above them is of all of it.
const lateChange = .25

// changesSince says from when on the changes are, where the warm-up took much of the judged time.
func changesSince(v *verdict.Verdict) string {
	m, w := v.Measured, v.Window
	if m == nil || m.FromMs == nil || *m.FromMs-w.FromMs < lateChange*(w.ToMs-w.FromMs) {
		return ""
	}
	return " from " + units.Seconds(*m.FromMs/1000) + " on"
}

// briefWarnings is how many warnings the answer alone has.
const briefWarnings = 3

// briefColumns are what one reads first of the accounts: the change, the rate by the
// step where there are steps, what was left over where that was marked, and the shape.
func briefColumns(v *verdict.Verdict) []growthColumn {
	all := growthColumns(v)
	steps := slices.ContainsFunc(all, func(c growthColumn) bool { return c.title == perStep })
	all = slices.DeleteFunc(all, func(c growthColumn) bool {
		switch c.title {
		case "growth", "share", "count":
			return true
		case perSecond:
			return steps
		}
		return false
	})
	known := func(r verdict.AccountRow) bool { return r.LeftoverBytes != nil }
	if !slices.ContainsFunc(v.Accounts, known) {
		return all
	}
	return slices.Insert(all, len(all)-1, growthColumn{column: column{title: leftOver, right: true},
		cell: func(r *verdict.AccountRow) string { return optBytes(r.LeftoverBytes) }})
}
