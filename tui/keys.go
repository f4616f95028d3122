package tui

import "github.com/charmbracelet/bubbles/key"

// keyMap is the one home of keys. Each binding carries its help.
type keyMap struct {
	Quit, Help, Pause, Next, Previous, Maximise    key.Binding
	Up, Down, PageUp, PageDown, Top, Bottom, Enter key.Binding
	ZoomIn, ZoomOut, Earlier, Later, Whole         key.Binding
	Mark, Compare, Report, Snapshot                key.Binding
	Collect, Purge, Trim, Survivors                key.Binding
	NextProcess, PreviousProcess, Device           key.Binding
	Sort, Reverse, Filter, Clear, Suspend          key.Binding
	Kill                                           key.Binding
	Slower, Faster, Restart, ToEnd                 key.Binding
	Panel                                          key.Binding
}

func bind(help, what string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))
}

func newKeyMap() keyMap {
	return keyMap{
		Quit: bind("q", "quit", "q", "ctrl+c"), Help: bind("?", "help", "?", "f1"),
		Pause: bind("space", "pause, go on", " "),
		Next:  bind("tab", "next panel", "tab"), Previous: bind("shift+tab", "previous panel", "shift+tab"),
		Panel:    bind("1-9", "panel by its number", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
		Maximise: bind("z", "one panel alone", "z"),
		Up:       bind("↑", "up", "up", "k"), Down: bind("↓", "down", "down", "j"),
		PageUp: bind("pgup", "page up", "pgup"), PageDown: bind("pgdn", "page down", "pgdown"),
		Top: bind("g", "to the top", "g"), Bottom: bind("G", "to the bottom", "G"),
		Enter:  bind("enter", "show the selected process", "enter"),
		ZoomIn: bind("+", "zoom in", "+", "="), ZoomOut: bind("-", "zoom out", "-"),
		Earlier: bind("←", "earlier", "left"), Later: bind("→", "later", "right"),
		Whole: bind("0", "all time", "0"),
		Mark:  bind("m", "mark a point", "m"), Compare: bind("M", "compare with the mark", "M"),
		Report: bind("w", "write the report now", "w"), Snapshot: bind("s", "save the screen as text", "s"),
		Collect: bind("c", "collect garbage", "c"), Purge: bind("p", "purge the pool", "p"),
		Trim:        bind("t", "trim the heap", "t"),
		Survivors:   bind("r", "ask who holds what", "r"),
		NextProcess: bind("n", "next process", "n"), PreviousProcess: bind("N", "previous process", "N"),
		Device: bind("d", "next device", "d"),
		Sort:   bind("o", "sort by the next column", "o"), Reverse: bind("O", "reverse the order", "O"),
		Kill:   bind("K", "end it, after a question", "K"),
		Filter: bind("/", "filter", "/"), Clear: bind("esc", "back, clear", "esc"),
		Suspend: bind("ctrl+z", "suspend", "ctrl+z"),
		Slower:  bind("[", "play slower", "[", "<"), Faster: bind("]", "play faster", "]", ">"),
		Restart: bind("home", "to the start", "home"), ToEnd: bind("end", "to the end, follow", "end"),
	}
}

// helpGroup is a part of the help overlay.
type helpGroup struct {
	name string
	keys []key.Binding
}

// groups are all bindings as the overlay lists them.
func (k *keyMap) groups() []helpGroup {
	return []helpGroup{
		{"screen", []key.Binding{k.Help, k.Quit, k.Pause, k.Next, k.Previous, k.Panel, k.Maximise, k.Snapshot,
			k.Suspend}},
		{"move", []key.Binding{k.Up, k.Down, k.PageUp, k.PageDown, k.Top, k.Bottom, k.Clear}},
		{"time", []key.Binding{k.ZoomIn, k.ZoomOut, k.Earlier, k.Later, k.Whole, k.Restart, k.ToEnd,
			k.Slower, k.Faster}},
		{"compare", []key.Binding{k.Mark, k.Compare, k.Report}},
		{"experiments", []key.Binding{k.Collect, k.Purge, k.Trim, k.Survivors}},
		{"processes", []key.Binding{k.Enter, k.NextProcess, k.PreviousProcess, k.Device,
			k.Sort, k.Reverse, k.Filter, k.Kill}},
	}
}
