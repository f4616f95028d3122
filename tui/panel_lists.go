package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
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

// told are the lines of what the program told.
func (p sitesPanel) told(w int) []string {
	f := p.frame
	var body []string
	line := func(what string, bytes, count, growth int64) {
		grown := ""
		if growth != 0 && w >= 60 {
			grown = units.Growth(float64(growth))
		}
		numbers := fmt.Sprintf(" %9s %8s %10s  ", units.Bytes(bytes), units.Whole(float64(count)), grown)
		if w < 60 {
			numbers = fmt.Sprintf(" %9s %8s  ", units.Bytes(bytes), units.Whole(float64(count)))
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
	return body
}

// Render implements the panel.
func (p sitesPanel) Render(w, h int) string {
	body := p.told(w)
	if body == nil {
		text := "Not told so far. A program with an agent tells its survivors at its end."
		switch {
		case p.offered:
			text = "Not told so far. Press r to ask the program for its survivors."
		case p.frame.Done:
			text = "Nothing told who holds what: there was no agent in the program, or nothing was left."
		}
		for _, l := range wrap(text, w-2, 0) {
			body = append(body, " "+l)
		}
	}
	return p.box(panelSites, panelNames[panelSites], p.focused, scrolled(body, p.scroll, h-1), w, h)
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
func scrolled[T any](lines []T, n, h int) []T {
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

// tellsPool reports whether anything is known of a pool of the chosen process.
func (f *Frame) tellsPool() bool {
	return known(f.Pool.Hits) || known(f.Now[seriesLive]) || known(f.Now[seriesIdle])
}

// Render implements the panel.
func (p poolPanel) Render(w, h int) string {
	if p.frame.tellsPool() {
		return p.box(panelPool, panelNames[panelPool], p.focused, p.body(w), w, h)
	}
	var body []string
	for _, l := range wrap("The program tells nothing about a pool.", w-2, 0) {
		body = append(body, " "+l)
	}
	return p.box(panelPool, panelNames[panelPool], p.focused, body, w, h)
}

// body are the figures that the pool tells, its latest receipts and its size classes.
func (p poolPanel) body(w int) []string {
	f, o := p.frame, &p.frame.Pool
	type fact struct{ name, text string }
	facts := []fact{
		{"hit rate", units.Percent(hitRate(o.Hits, o.Misses)) + p.lately()},
		{"requests", units.Whole(o.Hits + o.Misses)},
		{"live", units.Bytes(f.Now[seriesLive]) + in(f.Now[seriesLiveCount])},
		{"idle", units.Bytes(f.Now[seriesIdle]) + in(f.Now[seriesIdleCount])},
		{"allocated", units.Whole(o.Allocs)},
		{"freed", units.Whole(o.Frees)},
		{"references", units.Whole(o.Refs)},
		{"shapes", units.Whole(o.Shapes)},
		{"pipelines", units.Whole(o.Pipelines)},
		{"commands", units.Whole(o.Commands)},
		{"buffers", units.Whole(o.CommandBuffers)},
		{"in flight", units.Whole(f.Now[seriesInFlight])},
	}
	facts = slices.DeleteFunc(facts, func(x fact) bool { return strings.HasPrefix(x.text, units.Unknown) })
	var body []string
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
	return append(append(body, p.outcomes(w)...), p.classes(w)...)
}

func (p poolPanel) lately() string {
	if r := p.frame.Pool.Lately; known(r) {
		return " (" + units.Percent(r) + " lately)"
	}
	return ""
}

func in(count float64) string {
	if !known(count) {
		return ""
	}
	return " in " + units.Whole(count)
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
		idle := units.Unknown
		if b := c.idleBytes(); b >= 0 {
			idle = units.Bytes(b)
		}
		out = append(out, line(clean(c.Class), whole(c.Live), whole(c.Idle), idle, limit, whole(c.Hits),
			whole(c.Misses)))
	}
	return out
}

// whole is a number that may be unknown.
func whole(n *int64) string {
	if n == nil {
		return units.Unknown
	}
	return units.Whole(float64(*n))
}

// receiptText is a receipt in a line: claimed against returned.
func receiptText(r *record.Receipt) string {
	text := clean(r.Action) + ": claimed " + pointerText(r.ClaimedBytes) + ", returned " +
		pointerText(r.ReturnedBytes)
	if r.ReturnedBytes != nil && *r.ReturnedBytes < 0 {
		text = clean(r.Action) + ": claimed " + pointerText(r.ClaimedBytes) +
			", but the program went on growing: " + units.Bytes(-float64(*r.ReturnedBytes)) +
			" more after it than before"
	}
	if r.GPUBytes != nil {
		text += ", GPU " + pointerText(r.GPUBytes)
	}
	if r.Count != nil {
		text += ", " + units.Whole(float64(*r.Count)) + " freed"
	}
	return text
}

func pointerText(p *int64) string {
	if p == nil {
		return units.Unknown
	}
	return units.Bytes(*p)
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
	return p.box(panelEvents, name, p.focused, body, w, h)
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
		text = "sites   none"
		if len(e.Sites) > 0 {
			text = "sites   " + units.Bytes(e.Sites[0].Bytes) + " at " + e.Sites[0].Site
		}
	case record.KindHolders:
		text = "holders none"
		if len(e.Holders) > 0 {
			text = "holders " + units.Bytes(e.Holders[0].Bytes) + " by " + e.Holders[0].String()
		}
	case record.KindDriverSites:
		text = "driver  no site"
		if len(e.Sites) > 0 {
			text = "driver  " + units.Bytes(e.Sites[0].Bytes) + " for " + e.Sites[0].Site
		}
	case record.KindFirstTouch:
		text = "pages   first touched"
		if e.FirstTouch != nil && len(e.FirstTouch.Owners) > 0 {
			text += fmt.Sprintf(": %s by %s", units.Percent(e.FirstTouch.Owners[0].Share),
				e.FirstTouch.Owners[0].Library)
		}
	default:
		word := strings.ReplaceAll(e.Kind, "_", " ")
		text = word + blanks(7-width(word)) + " " + e.Name
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
	return p.box(panelOutput, name, p.focused, body, w, h)
}

// nothing says why there is no line.
func (p outputPanel) nothing() string {
	switch {
	case p.frame.Path == "":
		return " not captured: a watched program keeps its own output"
	case p.frame.Done:
		return " nothing, or not captured"
	}
	return " nothing so far; while the screen is shown its stdin is empty (without --tui it " +
		"keeps the terminal)"
}

// healthLines is how many facts the panel of this tool has when nothing is wrong.
const healthLines = 9

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
		{"processor", units.Percent(t.CPU) + " of a core"},
		{"memory", units.Bytes(t.RSS)},
		{"rate", units.Whole(f.RowRate) + " samples a second"},
		{"missed", units.Whole(t.Missed)},
		{"lost", units.Whole(t.LostRows)},
		{"frames", units.Whole(float64(f.Number)) + ", skipped " + units.Whole(float64(f.Skipped))},
		{"a frame", durationText(t.FrameCost) + " made, " + durationText(p.drawing.last) + " drawn"},
		{"a verdict", durationText(t.LookCost)},
		{"warnings", units.Whole(float64(t.Warnings))},
	}
	if t.Fault != "" {
		facts = append([][2]string{{"fault", t.Fault}}, facts...)
	}
	var body []string
	for _, x := range facts {
		body = append(body, " "+p.paint(dim, fit(x[0], 10))+" "+x[1])
	}
	return p.box(panelHealth, panelNames[panelHealth], p.focused, body, w, h)
}
