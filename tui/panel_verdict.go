package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gpumem/gpumem/internal/units"
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

// Render implements the panel. What the verdict is stays in place when the rest is
// scrolled; a panel of one line is that alone.
func (p verdictPanel) Render(w, h int) string {
	if h == 1 {
		return fit(p.strip(w), w)
	}
	lines := p.lines(max(w-2, 1))
	room := max(h-1, 0)
	body := make([]string, 0, room)
	for i, l := range lines {
		if from := min(p.scroll, max(len(lines)-room, 0)); i == 0 || i > from {
			body = append(body, " "+l)
		}
	}
	name := panelNames[panelVerdict]
	if more := len(body) - room; more > 0 {
		name += fmt.Sprintf(", %d more %s below", more, plural(more, "line", "lines"))
	}
	return p.box(panelVerdict, name, p.focused, body, w, h)
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

// strip is the verdict in one line.
func (p verdictPanel) strip(w int) string {
	v := p.frame.Judged.Verdict
	if v == nil {
		return p.paint(dim, cut(p.none(), w))
	}
	return cut(p.head(v)+": "+clean(cmp.Or(v.Claim, v.Summary)), w)
}

// head is the verdict and how sure it is.
func (p verdictPanel) head(v *verdict.Verdict) string {
	mark, t := verdictMark(v.Verdict)
	return p.paint(t, mark+" "+string(v.Verdict)) + p.paint(strong, tierText(v))
}

// none says why there is no verdict.
func (p verdictPanel) none() string {
	if p.frame.Judged.Watched {
		return "No growth is certain so far. Among many processes only certain growth raises an alarm."
	}
	return fmt.Sprintf("No verdict yet: the first comes after %s and %d samples. A program that sets itself "+
		"up looks like one that leaks.", units.Seconds(liveset.FirstMs/1000), liveset.FirstRows)
}

func (p verdictPanel) lines(w int) []string {
	j := p.frame.Judged
	v := j.Verdict
	if v == nil {
		return wrap(p.none(), w, 0)
	}
	lines := append([]string{p.head(v)}, wrap(clean(cmp.Or(v.Claim, v.Summary)), w, 0)...)
	lines = append(append(lines, p.where(w)...), p.turns(w)...)
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
	if text := forecastText(v.Forecast, p.restart()); text != "" {
		add("forecast: "+text, 2)
	} else if text := pressure(p.frame); text != "" {
		add("in use: "+text, 2)
	}
	for _, e := range v.Experiments {
		add("experiment: "+receiptText(&e), 2)
	}
	lines = append(lines, p.doubt(w)...)
	lines = append(lines, p.reasons(w)...)
	for _, l := range wrap(lookText(&j), w, 2) {
		lines = append(lines, p.paint(dim, l))
	}
	return lines
}

// where is who holds most of what there is, and where most was allocated, as far as
// the program told. Of a program that does not grow that is no news.
func (p verdictPanel) where(w int) []string {
	f := p.frame
	if f.Judged.Verdict.Verdict == verdict.None {
		return nil
	}
	var lines []string
	v := f.Judged.Verdict
	if len(f.Holders) > 0 && !strings.Contains(cmp.Or(v.Claim, v.Summary), f.Holders[0].Path) {
		h := &f.Holders[0]
		lines = wrap(clean(fmt.Sprintf("held by: %s, %s in %s", h.String(), units.Bytes(h.Bytes),
			units.Whole(float64(h.Count)))), w, 2)
	}
	if len(f.Sites) > 0 {
		s := &f.Sites[0]
		lines = append(lines, wrap(clean(fmt.Sprintf("allocated at: %s, %s", s.Site,
			units.Bytes(s.Bytes))), w, 2)...)
	}
	return lines
}

func tierText(v *verdict.Verdict) string {
	if v.Verdict == verdict.Undecided {
		return ""
	}
	return fmt.Sprintf(" %s %s", v.Tier, units.Percent(v.Confidence))
}

func lookText(j *Judged) string {
	if j.Looks == 1 {
		return "judged once, at " + clockText(j.AtMs, true)
	}
	text := fmt.Sprintf("judged %s times, last at %s", units.Whole(float64(j.Looks)), clockText(j.AtMs, true))
	if j.Same > 1 {
		text += fmt.Sprintf("; the last %s agree", units.Whole(float64(j.Same)))
	}
	return text
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
			p.paint(strong, cut(fmt.Sprintf("cause: %s, %s", c.ID, units.Percent(c.Confidence)), w)))
		for _, e := range c.Evidence {
			lines = append(lines, wrap("· "+clean(e), w, 2)...)
		}
		if c.Next != "" {
			lines = append(lines, wrap("→ "+clean(c.Next), w, 2)...)
		}
	}
	return lines
}

func forecastText(f *verdict.Forecast, restart string) string {
	if f == nil {
		return ""
	}
	text := fmt.Sprintf("%s of %s is used up in %s (80 %%: %s to %s)", f.Limit,
		units.Bytes(f.CapacityBytes),
		units.Seconds(f.P50), units.Seconds(f.P10), units.Seconds(f.P90))
	if restart != "" {
		text += "; " + restart
	}
	return text
}

// restart is by when a program that runs has to be restarted, as far as a forecast
// and the time at which the run began tell.
func (p verdictPanel) restart() string {
	f, j := p.frame, &p.frame.Judged
	if f.State != Recording && f.State != Watching || f.Meta.Start.IsZero() {
		return ""
	}
	at := f.Meta.Start.Local().Add(time.Duration(j.AtMs * float64(time.Millisecond)))
	return j.Verdict.Forecast.RestartBefore(at)
}

// doubt is what would settle an open verdict, what is missing, and warnings.
func (p verdictPanel) doubt(w int) []string {
	v, lines := p.frame.Judged.Verdict, []string(nil)
	if v.MoreMinutes != nil {
		lines = append(lines, wrap("to settle it: "+units.Seconds(*v.MoreMinutes*60)+" more", w, 2)...)
	}
	if v.RestsOn != "" {
		text := fmt.Sprintf("rests on: %s over %s, %s samples", v.RestsOn,
			units.Seconds((v.Window.ToMs-v.Window.FromMs)/1000), units.Whole(float64(v.Window.Samples)))
		if v.Window.Steps > 0 {
			text += ", " + units.Whole(float64(v.Window.Steps)) + " steps"
		}
		for _, l := range wrap(text, w, 2) {
			lines = append(lines, p.paint(dim, l))
		}
	}
	for _, m := range v.Missing {
		lines = append(lines, wrap("missing: "+clean(m), w, 2)...)
	}
	for _, m := range v.Warnings {
		lines = append(lines, wrap("warning: "+clean(m), w, 2)...)
	}
	return lines
}
