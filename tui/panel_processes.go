package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
)

// sortBy is what the processes are sorted by.
type sortBy int

const (
	byMemory sortBy = iota
	byGrowth
	byGPU
	byPID
	byName
	byCPU
	byUser
	sortCount
)

var sortNames = [sortCount]string{"memory", "growth", "GPU", "PID", "name", "CPU", "user"}

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
	for i := range f.Processes {
		if p := &f.Processes[i]; o.wants(p) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *Process) int { return o.compare(a, b, f.Unified) })
	return out
}

// wants reports whether the filter lets a process pass.
func (o order) wants(p *Process) bool {
	want := strings.ToLower(o.filter)
	return want == "" || strings.Contains(strings.ToLower(p.Name), want) ||
		strings.Contains(strings.ToLower(p.Command), want) ||
		strings.Contains(strings.ToLower(p.User), want) || strings.Contains(fmt.Sprint(p.PID), want) ||
		p.Judged.Verdict != nil && strings.Contains(string(p.Judged.Verdict.Verdict), want)
}

// compare is below 0 where a stands before b. Sorted by a value, those that are gone
// stand last.
func (o order) compare(a, b *Process, unified bool) int {
	c, named := 0, true
	switch o.by {
	case byPID:
		c = cmp.Compare(a.PID, b.PID)
	case byName:
		c = cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.PID, b.PID))
	case byUser:
		c = cmp.Or(strings.Compare(a.User, b.User), cmp.Compare(a.PID, b.PID))
	default:
		named = false
		c = cmp.Compare(o.value(b, unified), o.value(a, unified)) // unknown compares least: last here
	}
	if !named && a.Gone != b.Gone {
		if b.Gone {
			return -1
		}
		return 1
	}
	if o.reverse {
		return -c
	}
	return c
}

// value is what the list is sorted by, where that is a number.
func (o order) value(p *Process, unified bool) float64 {
	switch o.by {
	case byMemory:
		return p.Total(unified)
	case byGrowth:
		return p.Growth(unified)
	case byCPU:
		return p.CPU
	}
	return p.Now.device()
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
	fields := p.fields(w)
	body := []string{p.paint(dim, p.head(w, fields))}
	for i := from; i < len(list) && i-from < room; i++ {
		body = append(body, p.line(list[i], w, fields))
	}
	if len(list) == 0 {
		body = append(body, " none")
	}
	return p.box(panelProcesses, p.name(len(list), from, room), p.focused, body, w, h)
}

func (p processesPanel) name(n, from, room int) string {
	name := fmt.Sprintf("%s by %s", panelNames[panelProcesses], sortNames[p.order.by])
	if p.order.reverse {
		name += ", reversed"
	}
	if n > room {
		name += fmt.Sprintf(", %d to %d of %d", from+1, min(from+room, n), n)
	} else {
		name += fmt.Sprintf(", %d", n)
	}
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

const (
	pidWidth     = 7
	leastName    = 12
	shortName    = 8   // below 50 columns
	commandsFrom = 100 // columns from which commands stand in the place of names
	leastCommand = 32
)

// fields are the columns between the PID and the verdict that fit and of which
// anything is known, in the order in which they stand; the most important have room
// first.
func (p processesPanel) fields(w int) []field[Process] {
	f := p.frame
	all := []field[Process]{
		{"user", 9, true, func(x *Process) string { return x.User }},
		{"CPU", 6, false, func(x *Process) string { return units.Percent(x.CPU) }},
		{"GPU", 9, false, func(x *Process) string { return units.Bytes(x.Now.device()) }},
		{"host", 9, false, func(x *Process) string { return units.Bytes(x.Now.resident()) }},
		{"change", 10, false, func(x *Process) string { return units.Growth(x.Growth(f.Unified)) }},
		{"a second", 11, false, func(x *Process) string { return units.Growth(x.Rate) }},
		{"over time", 12, true, func(x *Process) string { return sparkline(x.Spark, 12) }},
	}
	name := leastName
	if w < 50 {
		name = shortName
	}
	hasCommand := func(x Process) bool { return x.Command != "" }
	if w >= commandsFrom && slices.ContainsFunc(f.Processes, hasCommand) {
		name = leastCommand
	}
	room := w - 2 - pidWidth - 1 - name - 1 - p.verdict(w) - 1
	return fitting(all, f.Processes, []int{2, 3, 4, 1, 0, 5, 6}, room, 1)
}

// verdict is how wide the verdict is: the whole word where there is room.
func (p processesPanel) verdict(w int) int {
	if w < 50 {
		return 10
	}
	return 15
}

func (p processesPanel) head(w int, fields []field[Process]) string {
	texts := make([]string, len(fields))
	for i := range fields {
		texts[i] = fields[i].head
	}
	return p.row(w, "  ", "PID", "name", fields, texts) + "verdict"
}

// row lays out a line up to the verdict.
func (p processesPanel) row(w int, lead, pid, name string, fields []field[Process], texts []string) string {
	line := ""
	for i, f := range fields {
		if f.left {
			line += fit(texts[i], f.width) + " "
		} else {
			line += right(texts[i], f.width) + " "
		}
	}
	lead += fit(pid, pidWidth) + " "
	return lead + fit(name, w-width(lead)-1-width(line)-p.verdict(w)-1) + " " + line
}

func (p processesPanel) line(x *Process, w int, fields []field[Process]) string {
	f, lead := p.frame, "  "
	if f.Chosen >= 0 && f.Processes[f.Chosen].PID == x.PID {
		lead = "● "
	}
	if x.PID == p.selected {
		lead = "▸ "
	}
	texts := make([]string, len(fields))
	for i := range fields {
		texts[i] = fields[i].text(x)
	}
	text, t := processVerdict(x)
	line := p.row(w, lead, fmt.Sprint(x.PID), p.label(x, w), fields, texts)
	if x.PID == p.selected && p.focused {
		return p.paint(selected, fit(line+text, w))
	}
	return line + p.paint(t, cut(text, p.verdict(w)+1))
}

// label is what a process is called: by its command where there is room for one.
func (p processesPanel) label(x *Process, w int) string {
	label := x.Name
	if w >= commandsFrom && x.Command != "" {
		label = x.Command
	}
	if label == "" {
		label = units.Unknown
		if x.PID == p.frame.Meta.PID {
			label = cmp.Or(p.frame.program(), label)
		}
	}
	if x.Gone {
		label = "(ended) " + label
	}
	return label
}

// processVerdict is whether a process leaks, in a word.
func processVerdict(x *Process) (string, token) {
	j := &x.Judged
	switch {
	case j.Verdict != nil:
		mark, t := verdictMark(j.Verdict.Verdict)
		return mark + " " + string(j.Verdict.Verdict), t
	case j.Watched:
		return "· no alarm", dim
	}
	if x.Gone {
		return "", dim
	}
	return "· too early", dim
}
