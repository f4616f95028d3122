package tui

import (
	"slices"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// listing is what a person chose of the list of processes.
type listing struct {
	order    order
	selected int     // pid
	filter   *string // being typed
}

// selectBy moves the selection n lines down.
func (l *listing) selectBy(f *Frame, n int) {
	list := l.order.list(f)
	if len(list) == 0 {
		return
	}
	at := slices.IndexFunc(list, func(p *Process) bool { return p.PID == l.selected })
	l.selected = list[min(max(at+n, 0), len(list)-1)].PID
}

// process is the selected one, nil when it is no more.
func (l *listing) process(f *Frame) *Process {
	for i := range f.Processes {
		if f.Processes[i].PID == l.selected {
			return &f.Processes[i]
		}
	}
	return nil
}

// typed takes a key of the filter being typed. The first match is selected, so that
// enter and the keys for processes mean what is seen.
func (l *listing) typed(k tea.KeyMsg, f *Frame) {
	switch k.Type {
	case tea.KeyEnter:
		l.order.filter, l.filter = *l.filter, nil
	case tea.KeyEsc, tea.KeyCtrlC:
		l.order.filter, l.filter = "", nil
	case tea.KeyBackspace:
		_, n := utf8.DecodeLastRuneInString(*l.filter)
		*l.filter = (*l.filter)[:len(*l.filter)-n]
	case tea.KeyRunes, tea.KeySpace:
		if len(*l.filter) < 100 {
			*l.filter += clean(string(k.Runes))
		}
	}
	if l.filter != nil {
		l.order.filter = *l.filter
	}
	if list := l.order.list(f); l.order.filter != "" && len(list) > 0 {
		l.selected = list[0].PID
	}
}

// click selects the process of line y of the panel and reports whether it was
// selected already; pid is 0 where there is none.
func (l *listing) click(f *Frame, p place, y int) (pid int, again bool) {
	list := l.order.list(f)
	room := max(p.h-2, 0)
	chosen := max(slices.IndexFunc(list, func(x *Process) bool { return x.PID == l.selected }), 0)
	from := min(max(chosen-room/2, 0), max(len(list)-room, 0))
	i := from + y - p.y - 2
	if y-p.y < 2 || i >= len(list) {
		return 0, false
	}
	pid = list[i].PID
	again = l.selected == pid
	l.selected = pid
	return pid, again
}
