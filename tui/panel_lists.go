package tui

import (
	"fmt"

	"github.com/gpumem/gpumem/tracer/record"
)

// sitesPanel is where the survivors were allocated, and who holds them.
type sitesPanel struct {
	*styles
	frame   *Frame
	focused bool
	scroll  int
	offered bool // the program can be asked
}

// Render implements the panel.
func (p sitesPanel) Render(w, h int) string {
	f := p.frame
	var body []string
	line := func(what string, bytes, count, growth int64) {
		grown := ""
		if growth != 0 && w >= 60 {
			grown = deltaText(float64(growth))
		}
		numbers := fmt.Sprintf(" %9s %8s %10s  ", bytesText(float64(bytes)), countText(float64(count)), grown)
		if w < 60 {
			numbers = fmt.Sprintf(" %9s %8s  ", bytesText(float64(bytes)), countText(float64(count)))
		}
		body = append(body, numbers+shorten(clean(what), w-width(numbers)-1))
	}
	head := fmt.Sprintf(" %9s %8s %10s  ", "bytes", "count", "change")
	if w < 60 {
		head = fmt.Sprintf(" %9s %8s  ", "bytes", "count")
	}
	if len(f.Sites) > 0 {
		body = append(body, p.paint(dim, head+"allocated at"))
		for _, s := range f.Sites {
			line(s.Site, s.Bytes, s.Count, s.GrowthBytes)
		}
	}
	if len(f.Holders) > 0 {
		body = append(body, p.paint(dim, head+"held by"))
		for _, s := range f.Holders {
			line(s.String(), s.Bytes, s.Count, 0)
		}
	}
	if body == nil {
		text := "Not told so far. A program with an agent tells its survivors at its end."
		if p.offered {
			text = "Not told so far. Press r to ask the program for its survivors."
		}
		for _, l := range wrap(text, w-2, 0) {
			body = append(body, " "+l)
		}
	}
	return p.box(panelNames[panelSites], p.focused, scrolled(body, p.scroll, h-1), w, h)
}

// shorten keeps the end of a path, where the file and the line are.
func shorten(s string, n int) string {
	if width(s) <= n {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && width(string(r))+1 > n {
		r = r[1:]
	}
	return "…" + string(r)
}

// scrolled is what of a list stands in h lines when scrolled down by n.
func scrolled(lines []string, n, h int) []string {
	from := min(max(n, 0), max(len(lines)-max(h, 0), 0))
	return lines[from:]
}

// lastOf is what of a list stands in h lines when scrolled up by n from its end.
func lastOf[T any](list []T, n, h int) []T {
	to := max(len(list)-max(n, 0), min(h, len(list)))
	return list[max(to-max(h, 0), 0):to]
}

// poolPanel is what the program's pool says of itself.
type poolPanel struct {
	*styles
	frame   *Frame
	focused bool
}

// Render implements the panel.
func (p poolPanel) Render(w, h int) string {
	f, o := p.frame, &p.frame.Pool
	type fact struct{ name, text string }
	facts := []fact{
		{"hit rate", percentText(hitRate(o.Hits, o.Misses)) + p.lately()},
		{"requests", countText(o.Hits + o.Misses)},
		{"live", bytesText(f.Now[seriesLive]) + in(f.Now[seriesLiveCount])},
		{"idle", bytesText(f.Now[seriesIdle]) + in(f.Now[seriesIdleCount])},
		{"allocated", countText(o.Allocs)},
		{"freed", countText(o.Frees)},
		{"references", countText(o.Refs)},
		{"shapes", countText(o.Shapes)},
		{"pipelines", countText(o.Pipelines)},
		{"commands", countText(o.Commands)},
		{"buffers", countText(o.CommandBuffers)},
		{"in flight", countText(f.Now[seriesInFlight])},
	}
	var body []string
	pool := known(o.Hits) || known(f.Now[seriesLive]) || known(f.Now[seriesIdle])
	if !pool {
		for _, l := range wrap("The program tells nothing of a pool.", w-2, 0) {
			body = append(body, " "+l)
		}
		return p.box(panelNames[panelPool], p.focused, body, w, h)
	}
	columns := min(max(w/36, 1), 3)
	rows := (len(facts) + columns - 1) / columns
	cell := (w - 1) / columns
	for r := range rows {
		line := " "
		for c := range columns {
			if i := c*rows + r; i < len(facts) {
				line += fit(p.paint(dim, fit(facts[i].name, 11))+facts[i].text, cell)
			}
		}
		body = append(body, line)
	}
	body = append(body, p.outcomes(w)...)
	body = append(body, p.classes(w)...)
	return p.box(panelNames[panelPool], p.focused, body, w, h)
}

func (p poolPanel) lately() string {
	if r := p.frame.Pool.Lately; known(r) {
		return " (" + percentText(r) + " lately)"
	}
	return ""
}

func in(count float64) string {
	if !known(count) {
		return ""
	}
	return " in " + countText(count)
}

// outcomes are the latest receipts: what was claimed and what came back.
func (p poolPanel) outcomes(w int) []string {
	var out []string
	for i := len(p.frame.Events) - 1; i >= 0 && len(out) < 4; i-- {
		if e := &p.frame.Events[i]; e.Receipt != nil {
			out = append(out, cut(" "+clockText(e.TMs, true)+" "+receiptText(e.Receipt), w))
		}
	}
	return out
}

// classes are the size classes of the pool, those that keep most idle first.
func (p poolPanel) classes(w int) []string {
	if len(p.frame.Classes) == 0 {
		return nil
	}
	name := max(w-56, 8)
	line := func(class, live, idle, bytes, limit, hits, misses string) string {
		return cut(" "+fit(class, name)+right(live, 7)+right(idle, 7)+right(bytes, 11)+right(limit,
			7)+right(hits, 11)+right(misses, 10), w)
	}
	out := []string{p.paint(dim, line("size class", "live", "idle", "idle bytes", "limit", "hits", "misses"))}
	for _, c := range p.frame.Classes {
		limit := whole(c.MaxIdle)
		if c.MaxIdle != nil && *c.MaxIdle < 0 {
			limit = "none"
		}
		idle := unknownText
		if b := c.idleBytes(); b >= 0 {
			idle = bytesText(float64(b))
		}
		out = append(out, line(clean(c.Class), whole(c.Live), whole(c.Idle), idle, limit, whole(c.Hits),
			whole(c.Misses)))
	}
	return out
}

// whole is a number that may be unknown.
func whole(n *int64) string {
	if n == nil {
		return unknownText
	}
	return countText(float64(*n))
}

// receiptText is a receipt in a line: claimed against returned.
func receiptText(r *record.Receipt) string {
	text := clean(r.Action) + ": claimed " + pointerText(r.ClaimedBytes) + ", returned " +
		pointerText(r.ReturnedBytes)
	if r.GPUBytes != nil {
		text += ", GPU " + pointerText(r.GPUBytes)
	}
	if r.Count != nil {
		text += ", " + countText(float64(*r.Count)) + " freed"
	}
	return text
}

func pointerText(p *int64) string {
	if p == nil {
		return unknownText
	}
	return bytesText(float64(*p))
}

// eventsPanel is what happened, the latest at the foot.
type eventsPanel struct {
	*styles
	frame   *Frame
	focused bool
	scroll  int // up from the end
}

// Render implements the panel.
func (p eventsPanel) Render(w, h int) string {
	list := lastOf(p.frame.Events, p.scroll, h-1)
	var body []string
	for i := range list {
		body = append(body, p.line(&list[i]))
	}
	if body == nil {
		body = []string{" none so far"}
	}
	name := panelNames[panelEvents]
	if n := p.frame.Health.Warnings; n > 0 {
		name += fmt.Sprintf(", %d %s", n, plural(n, "warning", "warnings"))
	}
	return p.box(name, p.focused, body, w, h)
}

func (p eventsPanel) line(e *record.Event) string {
	text, t := string(e.Kind), plain
	switch e.Kind {
	case record.KindReceipt:
		if e.Receipt != nil {
			text, t = "receipt "+receiptText(e.Receipt), good
		}
	case record.KindWarning:
		text, t = "warning "+e.Text, warn
	case record.KindSites:
		text = fmt.Sprintf("sites   %d told", len(e.Sites))
	case record.KindHolders:
		text = fmt.Sprintf("holders %d told", len(e.Holders))
	default:
		text = fit(e.Kind, 7) + " " + e.Name
		if e.Text != "" {
			text += " " + e.Text
		}
		if e.At != "" {
			text += " at " + e.At
		}
	}
	return fmt.Sprintf(" %s ", p.paint(dim, right(clockText(e.TMs, true), 8))) + p.paint(t, clean(text))
}

// outputPanel is what the program wrote, the latest at the foot.
type outputPanel struct {
	*styles
	frame   *Frame
	focused bool
	scroll  int
}

// Render implements the panel.
func (p outputPanel) Render(w, h int) string {
	list := lastOf(p.frame.Output, p.scroll, h-1)
	var body []string
	for _, l := range list {
		if l.Err {
			body = append(body, p.paint(warn, "2│")+" "+l.Text)
		} else {
			body = append(body, "  "+" "+l.Text)
		}
	}
	if body == nil {
		body = []string{p.nothing()}
	}
	name := panelNames[panelOutput]
	if p.frame.Path != "" {
		name += " (" + record.FileStdout + ", " + record.FileStderr + ")"
	}
	return p.box(name, p.focused, body, w, h)
}

// nothing says why there is no line.
func (p outputPanel) nothing() string {
	switch {
	case p.frame.Path == "":
		return " not captured: a program that is watched keeps its output"
	case p.frame.Done:
		return " nothing, or not captured"
	}
	return " nothing so far; on the screen its stdin is empty (--no-tui gives it the terminal)"
}

// healthPanel is what this tool itself uses and misses.
type healthPanel struct {
	*styles
	frame   *Frame
	focused bool
	drawing drawing
}

// Render implements the panel.
func (p healthPanel) Render(w, h int) string {
	f := p.frame
	t := &f.Health
	facts := [][2]string{
		{"processor", percentText(t.CPU) + " of a core"},
		{"memory", bytesText(t.RSS)},
		{"rate", countText(f.RowRate) + " samples a second"},
		{"missed", countText(t.Missed)},
		{"lost", countText(t.LostRows)},
		{"frames", countText(float64(f.Number)) + ", skipped " + countText(float64(f.Skipped))},
		{"a frame", durationText(t.FrameCost) + " made, " + durationText(p.drawing.last) + " drawn"},
		{"a verdict", durationText(t.LookCost)},
		{"warnings", countText(float64(t.Warnings))},
	}
	if t.Fault != "" {
		facts = append([][2]string{{"fault", t.Fault}}, facts...)
	}
	var body []string
	for _, x := range facts {
		body = append(body, " "+p.paint(dim, fit(x[0], 10))+" "+x[1])
	}
	return p.box(panelNames[panelHealth], p.focused, body, w, h)
}
