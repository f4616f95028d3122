package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// sortBy is what the processes are sorted by.
type sortBy int

const (
	byMemory sortBy = iota
	byGrowth
	byGPU
	byPID
	byName
	sortCount
)

var sortNames = [sortCount]string{"memory", "growth", "GPU", "PID", "name"}

// order says which processes are listed and how.
type order struct {
	by      sortBy
	reverse bool
	filter  string
}

// list are the processes that the filter lets pass, in order. The greatest
// come first, names and numbers in ascending order; those that have ended hold
// nothing any more and come last.
func (o order) list(f *Frame) []*Process {
	var out []*Process
	want := strings.ToLower(o.filter)
	for i := range f.Processes {
		p := &f.Processes[i]
		if want == "" || strings.Contains(strings.ToLower(p.Name), want) ||
			strings.Contains(fmt.Sprint(p.PID), want) ||
			p.Judged.Verdict != nil && strings.Contains(string(p.Judged.Verdict.Verdict), want) {
			out = append(out, p)
		}
	}
	value := func(p *Process) float64 {
		switch o.by {
		case byMemory:
			return p.Total(f.Unified)
		case byGrowth:
			return p.Growth(f.Unified)
		}
		return p.Now.device()
	}
	slices.SortStableFunc(out, func(a, b *Process) int {
		c := 0
		switch o.by {
		case byPID:
			c = cmp.Compare(a.PID, b.PID)
		case byName:
			c = cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.PID, b.PID))
		default:
			c = cmp.Compare(value(b), value(a)) // unknown compares least: last here
		}
		if o.reverse {
			c = -c
		}
		if a.Gone != b.Gone && (o.by == byMemory || o.by == byGrowth || o.by == byGPU) {
			c = 1
			if b.Gone {
				c = -1
			}
		}
		return c
	})
	return out
}

// processesPanel is the list of processes.
type processesPanel struct {
	*styles
	frame    *Frame
	focused  bool
	order    order
	selected int // pid
	typing   string
}

// Render implements the panel.
func (p processesPanel) Render(w, h int) string {
	list := p.order.list(p.frame)
	room := max(h-2, 0)
	at := max(slices.IndexFunc(list, func(x *Process) bool { return x.PID == p.selected }), 0)
	from := min(max(at-room/2, 0), max(len(list)-room, 0))
	body := []string{p.paint(dim, p.head(w))}
	for i := from; i < len(list) && i-from < room; i++ {
		body = append(body, p.line(list[i], w))
	}
	if len(list) == 0 {
		body = append(body, " none")
	}
	return p.box(p.name(len(list), from, room), p.focused, body, w, h)
}

func (p processesPanel) name(n, from, room int) string {
	name := fmt.Sprintf("%s by %s", panelNames[panelProcesses], sortNames[p.order.by])
	if p.order.reverse {
		name += ", turned"
	}
	if n > room {
		name += fmt.Sprintf(", %d to %d", from+1, min(from+room, n))
	}
	name += fmt.Sprintf(", %d", n)
	if total := len(p.frame.Processes); total != n {
		name += fmt.Sprintf(" of %d", total)
	}
	if p.typing != "" {
		return name + ", filter: " + p.typing
	}
	if p.order.filter != "" {
		name += fmt.Sprintf(", filter %q", p.order.filter)
	}
	return name
}

// parts are the widths of the columns; 0 leaves one out.
func (p processesPanel) parts(w int) (name, gpu, host, growth, rate, spark, verdict int) {
	gpu, host, growth = 9, 9, 10
	if w >= 84 {
		rate = 12
	}
	if w >= 100 {
		spark = 12
	}
	verdict = 15
	if w < 66 {
		gpu, verdict = 0, 13
	}
	used := 12
	for _, n := range [...]int{gpu, host, growth, rate, spark, verdict} {
		if n > 0 {
			used += n + 1
		}
	}
	return max(w-used, 6), gpu, host, growth, rate, spark, verdict
}

func (p processesPanel) head(w int) string {
	name, gpu, host, growth, rate, spark, verdict := p.parts(w)
	return p.row([]int{-8, -name, gpu, host, growth, rate, -spark, -verdict},
		"  ", []string{"PID", "name", "GPU", "host", "change", "a second", "over time", "verdict"})
}

// row lays out texts by width, negative widths to the left.
func (p processesPanel) row(widths []int, lead string, texts []string) string {
	line := lead
	for i, n := range widths {
		switch {
		case n < 0:
			line += fit(texts[i], -n) + " "
		case n > 0:
			line += right(texts[i], n) + " "
		}
	}
	return strings.TrimRight(line, " ")
}

func (p processesPanel) line(x *Process, w int) string {
	f := p.frame
	name, gpu, host, growth, rate, spark, verdict := p.parts(w)
	lead := "  "
	if f.Chosen >= 0 && f.Processes[f.Chosen].PID == x.PID {
		lead = "● "
	}
	if x.PID == p.selected {
		lead = "▸ "
	}
	label := x.Name
	if label == "" {
		label = unknownText
		if x.PID == f.Meta.PID {
			label = clean(f.Name)
		}
	}
	if x.Gone {
		label = "(ended) " + label
	}
	resident := x.Now[seriesFootprint]
	if !known(resident) {
		resident = x.Now[seriesRSS]
	}
	text, t := processVerdict(&x.Judged)
	line := p.row([]int{-8, -name, gpu, host, growth, rate, -spark}, lead, []string{
		fmt.Sprint(x.PID), label, bytesText(x.Now.device()), bytesText(resident),
		deltaText(x.Growth(f.Unified)),
		deltaText(x.Rate), sparkline(x.Spark, spark),
	})
	line = fit(line, w-verdict-1) + " "
	if x.PID == p.selected && p.focused {
		return p.paint(selected, fit(line+text, w))
	}
	return line + p.paint(t, cut(text, verdict))
}

func processVerdict(j *Judged) (string, token) {
	switch {
	case j.Verdict != nil:
		mark, t := verdictMark(j.Verdict.Verdict)
		return mark + " " + string(j.Verdict.Verdict), t
	case j.Watched:
		return "· no alarm", dim
	}
	return unknownText, dim
}
