package tui

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// eventVerdict is the kind of the screen's own events: a verdict is no event of the run.
const eventVerdict = "verdict"

// tellTurn adds the changes of the chosen process's verdict to the events, each with
// its reason. The lock is held.
func (f *Feed) tellTurn() {
	p := f.chosen()
	if p == nil {
		return
	}
	for i := range p.Judged.Turns {
		t := &p.Judged.Turns[i]
		if t.AtMs <= p.turned {
			continue
		}
		p.turned = t.AtMs
		name := string(t.Verdict)
		if i > 0 {
			name = string(p.Judged.Turns[i-1].Verdict) + " → " + name
		}
		text := reason(t)
		if text != "" {
			name += ":"
		}
		f.events = keep(f.events, record.Event{TMs: t.AtMs, PID: p.PID, Kind: eventVerdict, Name: name,
			Text: text}, keptEvents)
	}
}

// reason is the answer that changed a verdict, without the verdict itself, which stands
// beside it.
func reason(t *Turn) string {
	head, rest, found := strings.Cut(t.Why, ": ")
	if found && (head == string(t.Verdict) || strings.HasPrefix(head, string(t.Verdict)+" (")) {
		return rest
	}
	return t.Why
}

// reasons say why the verdict turned, the latest change first. The first verdict is no
// change, and the answer that stands above is not told again.
func (p verdictPanel) reasons(w int) []string {
	j, lines := &p.frame.Judged, []string(nil)
	for i := len(j.Turns) - 1; i > 0; i-- {
		t := &j.Turns[i]
		why := reason(t)
		if why == "" || why == cmp.Or(j.Verdict.Claim, j.Verdict.Summary) {
			continue
		}
		text := fmt.Sprintf("at %s it turned from %s to %s: %s", clockText(t.AtMs, true),
			j.Turns[i-1].Verdict, t.Verdict, why)
		for _, l := range wrap(clean(text), w, 2) {
			lines = append(lines, p.paint(dim, l))
		}
	}
	return lines
}
