package tui

import (
	"cmp"
	"fmt"
	"strings"

	liveset "github.com/gpumem/gpumem/report/live"
	"github.com/gpumem/gpumem/report/verdict"
)

// verdictPanel is whose memory grows, how sure that is, and what would settle
// it.
type verdictPanel struct {
	*styles
	frame   *Frame
	focused bool
	scroll  int
}

// Render implements the panel.
func (p verdictPanel) Render(w, h int) string {
	lines := p.lines(max(w-2, 1))
	room := max(h-1, 0)
	from := min(p.scroll, max(len(lines)-room, 0))
	body := make([]string, 0, room)
	for _, l := range lines[from:] {
		body = append(body, " "+l)
	}
	name := panelNames[panelVerdict]
	if more := len(body) - room; more > 0 {
		name += fmt.Sprintf(", %d more %s below", more, plural(more, "line", "lines"))
	}
	return p.box(name, p.focused, body, w, h)
}

// verdictMark tells the verdicts apart without colour.
func verdictMark(c verdict.Class) (string, token) {
	switch c {
	case verdict.None:
		return "✓", good
	case verdict.Undecided, "":
		return "?", warn
	}
	return "▲", bad
}

func (p verdictPanel) lines(w int) []string {
	j := p.frame.Judged
	v := j.Verdict
	if v == nil {
		if j.Watched {
			return wrap(
				"No growth is certain so far. The process is one of many, and of many only alarms are "+
					"raised.", w, 0)
		}
		return wrap(
			fmt.Sprintf(
				"No verdict yet: the first comes after %s and %d samples. A program that sets itself up looks like one that leaks.", secondsText(liveset.FirstMs/1000), liveset.FirstRows), w, 0)
	}
	mark, t := verdictMark(v.Verdict)
	lines := []string{p.paint(t, mark+" "+string(v.Verdict)) + p.paint(strong, tierText(v))}
	lines = append(lines, wrap(clean(cmp.Or(v.Claim, v.Summary)), w, 0)...)
	lines = append(lines, p.turns(w)...)
	add := func(text string, indent int) {
		lines = append(lines, wrap(clean(text), w, indent)...)
	}
	for d := v.DrivenBy; d != nil; d = d.And {
		cost := intervalText(&d.Interval)
		if d.Of != "" {
			cost = fmt.Sprintf("%+.3g %s", d.Value, d.Of)
		}
		add("driven by: "+cost+" a "+strings.ReplaceAll(d.Per, "_", " "), 2)
	}
	lines = append(lines, p.causes(w)...)
	if text := forecastText(v.Forecast); text != "" {
		add("forecast: "+text, 2)
	} else if text := pressure(p.frame); text != "" {
		add("in use: "+text, 2)
	}
	for _, e := range v.Experiments {
		add("experiment: "+receiptText(&e), 2)
	}
	return append(append(lines, p.doubt(w)...), p.paint(dim, cut(lookText(&j), w)))
}

func tierText(v *verdict.Verdict) string {
	if v.Verdict == verdict.Undecided {
		return ""
	}
	return fmt.Sprintf(" %s %s", v.Tier, percentText(v.Confidence))
}

func lookText(j *Judged) string {
	if j.Looks == 1 {
		return "looked at once, at " + clockText(j.AtMs, true)
	}
	return fmt.Sprintf("looked at %s times, the same the last %s, lately at %s", countText(float64(j.Looks)),
		countText(float64(j.Same)), clockText(j.AtMs, true))
}

// turns are the verdicts one after the other, from none.
func (p verdictPanel) turns(w int) []string {
	turns := p.frame.Judged.Turns
	parts := []string{"no verdict"}
	if len(turns) > 3 {
		parts = nil
	}
	for _, t := range turns[max(len(turns)-4, 0):] {
		parts = append(parts, clockText(t.AtMs, true)+" "+string(t.Verdict))
	}
	lines := wrap("turned: "+strings.Join(parts, " → "), w, 2)
	for i := range lines {
		lines[i] = p.paint(dim, lines[i])
	}
	return lines
}

func (p verdictPanel) causes(w int) []string {
	var lines []string
	for _, c := range p.frame.Judged.Verdict.Causes {
		lines = append(lines,
			p.paint(strong, cut(fmt.Sprintf("cause: %s, %s", c.ID, percentText(c.Confidence)), w)))
		for _, e := range c.Evidence {
			lines = append(lines, wrap("· "+clean(e), w, 2)...)
		}
		if c.Next != "" {
			lines = append(lines, wrap("→ "+clean(c.Next), w, 2)...)
		}
	}
	return lines
}

func forecastText(f *verdict.Forecast) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%s of %s is used up in %s (80 %%: %s to %s)", f.Limit,
		bytesText(float64(f.CapacityBytes)),
		secondsText(f.P50), secondsText(f.P10), secondsText(f.P90))
}

// doubt is what would settle an open verdict, what is missing, and warnings.
func (p verdictPanel) doubt(w int) []string {
	v, lines := p.frame.Judged.Verdict, []string(nil)
	if v.MoreMinutes != nil {
		lines = append(lines, wrap("to settle it: "+secondsText(*v.MoreMinutes*60)+" more", w, 2)...)
	}
	if v.RestsOn != "" {
		lines = append(lines,
			p.paint(dim, cut(fmt.Sprintf("rests on: %s over %s, %s samples, %s steps", v.RestsOn,
				secondsText((v.Window.ToMs-v.Window.FromMs)/1000), countText(float64(v.Window.Samples)),
				countText(float64(v.Window.Steps))), w)))
	}
	for _, m := range v.Missing {
		lines = append(lines, wrap("missing: "+clean(m), w, 2)...)
	}
	for _, m := range v.Warnings {
		lines = append(lines, wrap("warning: "+clean(m), w, 2)...)
	}
	return lines
}
