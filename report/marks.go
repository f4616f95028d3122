package report

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// mark is a moment of the run worth a line in the charts.
type mark struct {
	seconds float64
	label   string
	receipt bool
}

// maxMarks bounds the marks that are shown; a program may set one a step.
const maxMarks = 24

// marksOf are the phases and receipts of the run, in time, at most maxMarks;
// more says how many there were beyond.
func marksOf(run *record.Run) (marks []mark, more int) {
	if !hasTime(run) {
		return nil, 0
	}
	lo, hi := rangeOf(run.Samples.Column(record.ColTime))
	for _, e := range run.Events {
		m := mark{seconds: e.TMs / 1000}
		switch {
		case !(e.TMs >= lo && e.TMs <= hi):
			continue
		case e.Kind == record.KindPhase:
			m.label = clean(e.Name, 40)
		case e.Kind == record.KindReceipt && e.Receipt != nil:
			m.label, m.receipt = clean(e.Receipt.Action, 40), true
		}
		if m.label == "" {
			continue
		}
		if len(marks) == maxMarks {
			more++
			continue
		}
		marks = append(marks, m)
	}
	return marks, more
}

// marksText lists the marks, for those who do not see the charts.
func marksText(run *record.Run) string {
	marks, more := marksOf(run)
	if len(marks) == 0 {
		return ""
	}
	parts := make([]string, len(marks))
	for i, m := range marks {
		parts[i] = m.label + " at " + secondsText(m.seconds)
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %s more", countText(int64(more))))
	}
	return "Marks: " + strings.Join(parts, ", ") + "."
}
