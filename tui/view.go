package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/gpumem/gpumem/tracer/record"
)

// smallest size that is drawn at all.
const (
	leastWidth  = 20
	leastHeight = 5
)

// View implements tea.Model.
func (m *Model) View() string {
	began := m.o.Now()
	text := m.draw()
	m.drawing.last = m.o.Now().Sub(began)
	return text
}

// draw is the whole screen, m.h lines of at most m.w cells.
func (m *Model) draw() string {
	if m.w == 0 || m.closing {
		return ""
	}
	if m.w < leastWidth || m.h < leastHeight {
		return cut("too small", m.w)
	}
	header := headerPanel{m.styles, m.frame, m.paused, m.message}.Render(m.w, headerHeight)
	body := ""
	room := m.h - headerHeight - footerHeight
	if m.help {
		body = helpPanel{m.styles, &m.keys, m.helpLine}.Render(m.w, room)
		m.places = nil
	} else {
		m.places = layout(m.w, m.h,
			chosen{m.focus, below(m.frame, m.o.Processes), m.maximised, m.o.Processes},
			needsOf(m.styles, m.frame))
		body = compose(m.places, room, m.panel)
	}
	text := header + "\n" + body + "\n" + footerPanel{m.styles, &m.keys, m.ask, m.filter, m.o.Player != nil,
		m.focus == panelProcesses, m.o.Control.Experiment != nil, m.o.Control.Terminate != nil}.Render(m.w, 1)
	if m.styles.ascii {
		return toASCII(text)
	}
	return text
}

// below is the panel under the accounts when the focus does not say: the processes
// where there are several, else what the pool does, if it tells anything.
func below(f *Frame, processes bool) panelID {
	if len(f.Processes) > 1 || processes || !f.tellsPool() {
		return panelProcesses
	}
	return panelPool
}

// text is the screen without colours, for a file.
func (m *Model) text() string {
	lines := strings.Split(ansi.Strip(m.draw()), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// compose draws the panels into lines of the full width.
func compose(places []place, room int, draw func(place) string) string {
	type piece struct {
		x     int
		lines []string
	}
	rows := make([][]piece, room)
	for _, p := range places {
		lines := strings.Split(draw(p), "\n")
		for i, l := range lines {
			if y := p.y - headerHeight + i; y >= 0 && y < room {
				rows[y] = append(rows[y], piece{p.x, []string{l}})
			}
		}
	}
	out := make([]string, room)
	for y, pieces := range rows {
		var b strings.Builder
		x := 0
		for _, p := range inOrder(pieces, func(a, b piece) bool { return a.x < b.x }) {
			b.WriteString(blanks(p.x - x))
			b.WriteString(p.lines[0])
			x = max(p.x, x) + width(p.lines[0])
		}
		out[y] = b.String()
	}
	return strings.Join(out, "\n")
}

// inOrder sorts a handful.
func inOrder[T any](list []T, less func(a, b T) bool) []T {
	for i := 1; i < len(list); i++ {
		for k := i; k > 0 && less(list[k], list[k-1]); k-- {
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
	return list
}

// panel draws one panel in its place.
func (m *Model) panel(p place) string {
	f, s, on := m.frame, m.styles, p.panel == m.focus
	switch p.panel {
	case panelVerdict:
		return verdictPanel{s, f, on, m.scroll[panelVerdict]}.Render(p.w, p.h)
	case panelProcesses:
		typing := ""
		if m.filter != nil {
			typing = *m.filter + "▏"
		}
		return processesPanel{s, f, on, m.order, m.selected, typing}.Render(p.w, p.h)
	case panelSites:
		return sitesPanel{s, f, on, m.scroll[panelSites], m.offers(record.ActionSites)}.Render(p.w, p.h)
	case panelPool:
		return poolPanel{s, f, on}.Render(p.w, p.h)
	case panelEvents:
		return eventsPanel{s, f, on, m.scroll[panelEvents]}.Render(p.w, p.h)
	case panelOutput:
		return outputPanel{s, f, on, m.scroll[panelOutput]}.Render(p.w, p.h)
	case panelComposition:
		return compositionPanel{s, f, on, m.scroll[panelComposition],
			m.offers(record.ActionComposition)}.Render(p.w, p.h)
	case panelDevices:
		return devicesPanel{s, f, on, m.scroll[panelDevices]}.Render(p.w, p.h)
	case panelHealth:
		return healthPanel{s, f, on, m.drawing}.Render(p.w, p.h)
	}
	return accountsPanel{s, f, on, m.compare}.Render(p.w, p.h)
}

// helpPanel is the overlay of all keys.
type helpPanel struct {
	*styles
	keys *keyMap
	from int
}

// Render implements the panel.
func (p helpPanel) Render(w, h int) string {
	var items []string
	for _, g := range p.keys.groups() {
		items = append(items, p.paint(title, g.name))
		for _, b := range g.keys {
			items = append(items, " "+p.paint(hotkey, fit(b.Help().Key, 10))+" "+b.Help().Desc)
		}
	}
	columns := max(w/40, 1)
	rows := (len(items) + columns - 1) / columns
	body := make([]string, 0, rows)
	for r := range rows {
		line := " "
		for c := range columns {
			if i := c*rows + r; i < len(items) {
				line += fit(items[i], (w-1)/columns)
			}
		}
		body = append(body, line)
	}
	body = append(body, "", " The mouse selects and scrolls; over the accounts its wheel zooms.", "")
	body = append(body, p.legend(w)...)
	name := "Keys"
	if len(body) > h-1 {
		name += ", ↓ for more"
	}
	return p.box(panelCount, name, true, scrolled(body, p.from, h-1), w, h)
}
