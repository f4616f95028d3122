package tui

import "strings"

// footerPanel is a question, the filter being typed, or the keys that fit.
type footerPanel struct {
	*styles
	keys     *keyMap
	ask      *question
	filter   *string
	playback bool
	list     bool // the list of processes has the focus
	asks     bool // experiments are offered
	kills    bool // processes can be ended
}

// Render implements the panel; it takes one line.
func (p footerPanel) Render(w, _ int) string {
	switch {
	case p.ask != nil:
		keys := p.answers(func(a answer) string { return a.what })
		if width(p.ask.text)+2+width(keys) > w {
			keys = p.answers(func(a answer) string { return a.short })
		}
		// The keys are whole whatever the width: the text gives way.
		return fit(p.paint(warn, cut(p.ask.text, w-width(keys)-2))+"  "+keys, w)
	case p.filter != nil:
		return fit(p.paint(warn, "Filter: ")+*p.filter+"_  "+p.paint(hotkey, "enter")+" keep  "+
			p.paint(hotkey, "esc")+" drop", w)
	}
	line := ""
	for _, x := range p.short() {
		line += p.paint(hotkey, x[0]) + p.paint(dim, " "+x[1]) + "  "
	}
	return fit(line, w)
}

// short are the keys that are useful now and what they do in a word, the most useful
// first.
func (p footerPanel) short() [][2]string {
	k := p.keys
	line := [][2]string{{k.Help.Help().Key, "help"}, {k.Quit.Help().Key, "quit"}, {"1-9", "panel"}}
	if p.list {
		line = append(line, [][2]string{{"o", "sort"}, {"/", "filter"}, {"enter", "show"}}...)
		if p.kills {
			line = append(line, [2]string{"K", "kill"})
		}
	}
	line = append(line, [][2]string{{"space", "pause"}, {"+ -", "zoom"}, {"m M", "mark, compare"}}...)
	switch {
	case p.playback:
		line = append(line, [2]string{"[ ]", "speed"})
	case p.asks:
		line = append(line, [2]string{"c p t", "experiment"})
	}
	line = append(line, [][2]string{{"r", "sites"}, {"w", "report"}, {"s", "save"}, {"z", "alone"},
		{"n d", "process, device"}}...)
	if !p.list {
		line = append(line, [2]string{"o /", "sort, filter"})
	}
	return append(line, [2]string{"← →", "scroll"})
}

// answers are the keys that answer.
func (p footerPanel) answers(label func(answer) string) string {
	var parts []string
	for _, a := range p.ask.answers {
		parts = append(parts, p.paint(hotkey, a.key)+" "+label(a))
	}
	return strings.Join(append(parts, p.paint(hotkey, "esc")+" "+p.ask.no()), "  ")
}
