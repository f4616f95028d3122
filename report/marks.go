package report

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// mark is a moment of the run worth a line in the charts.
type mark struct {
	seconds float64
	label   string
	receipt bool
	outcome string // of a receipt: "claimed 24.0 MiB, returned 22.0 MiB"
	first   bool   // shown before others when there are too many
}

// maxMarks bounds the marks that are shown; a program may set one a step.
const maxMarks = 24

// marksOf are the phases and receipts of the run, in the order of the events,
// at most maxMarks; more says how many there were beyond. Receipts and the
// phases that the verdict rests on go before the program's own.
func marksOf(run *record.Run) (marks []mark, more int) {
	if !hasTime(run) {
		return nil, 0
	}
	lo, hi := rangeOf(run.Samples.Column(record.ColTime))
	kept := 0
	for _, e := range run.Events {
		if m := markOf(e); m.label != "" && e.TMs >= lo && e.TMs <= hi {
			marks = append(marks, m)
			if m.first && kept < maxMarks {
				kept++
			}
		}
	}
	first, others := kept, maxMarks-kept
	out := marks[:0]
	for _, m := range marks {
		room := &others
		if m.first {
			room = &first
		}
		if *room > 0 {
			*room--
			out = append(out, m)
		}
	}
	return out, len(marks) - len(out)
}

// markOf is an event as a mark; without a label it is none.
func markOf(e record.Event) mark {
	m := mark{seconds: e.TMs / 1000}
	switch {
	case e.Kind == record.KindPhase:
		m.label, m.first = clean(e.Name, 40), e.Name == record.PhaseBaseline || e.Name == record.PhaseReleased
	case e.Kind == record.KindReceipt && e.Receipt != nil:
		m.label, m.receipt, m.outcome, m.first = clean(e.Receipt.Action, 40), true, outcomeOf(e.Receipt), true
	}
	return m
}

// marksText lists the marks, for those who do not see the charts.
func marksText(run *record.Run) string {
	marks, more := marksOf(run)
	if len(marks) == 0 {
		return ""
	}
	parts := make([]string, len(marks))
	for i, m := range marks {
		parts[i] = m.text()
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %s more", units.Count(int64(more))))
	}
	return "Marks: " + strings.Join(parts, ", ") + "."
}

// text is a mark in words.
func (m *mark) text() string {
	s := m.label + " at " + units.Seconds(m.seconds)
	if m.outcome != "" {
		s += " (" + m.outcome + ")"
	}
	return s
}

// outcomeOf is what an action claimed to free and what was got back, as far as
// it is known.
func outcomeOf(r *record.Receipt) string {
	var parts []string
	for _, p := range []struct {
		word  string
		bytes *int64
	}{{"claimed", r.ClaimedBytes}, {"returned", r.ReturnedBytes}, {"GPU returned", r.GPUBytes}} {
		if p.bytes != nil {
			parts = append(parts, p.word+" "+units.Bytes(*p.bytes))
		}
	}
	return strings.Join(parts, ", ")
}
