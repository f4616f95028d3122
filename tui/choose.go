package tui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
)

// page is how far a page key goes.
func (m *Model) page() int {
	for _, p := range m.places {
		if p.panel == m.focus {
			return max(p.h-3, 1)
		}
	}
	return 10
}

// move selects or scrolls in the panel of the focus, n lines down.
func (m *Model) move(n int) {
	f := m.frame
	limit := 0
	switch m.focus {
	case panelProcesses, panelAccounts:
		m.selectBy(n)
		return
	case panelVerdict:
		limit = 200
	case panelSites:
		limit = len(f.Sites) + len(f.Holders)
	case panelEvents, panelOutput: // these count from their end
		limit, n = len(f.Events), -n
		if m.focus == panelOutput {
			limit = len(f.Output)
		}
	}
	m.scroll[m.focus] = min(max(m.scroll[m.focus]+n, 0), limit)
}

// selectBy moves the selection of the processes.
func (m *Model) selectBy(n int) {
	list := m.order.list(m.frame)
	if len(list) == 0 {
		return
	}
	at := slices.IndexFunc(list, func(p *Process) bool { return p.PID == m.selected })
	m.selected = list[min(max(at+n, 0), len(list)-1)].PID
}

// enter shows the selected process.
func (m *Model) enter() tea.Cmd {
	if m.focus != panelProcesses && m.focus != panelAccounts {
		m.maximised = !m.maximised
		return nil
	}
	return m.show(m.selected)
}

// show makes a process the chosen one.
func (m *Model) show(pid int) tea.Cmd {
	if pid == 0 {
		return nil
	}
	m.selected = pid
	m.view.PID, m.view.Device = pid, AllDevices
	return m.look()
}

// choose shows the next process of the list.
func (m *Model) choose(n int) tea.Cmd {
	list := m.order.list(m.frame)
	if len(list) == 0 || m.frame.Chosen < 0 {
		return nil
	}
	shown := m.frame.Processes[m.frame.Chosen].PID
	at := slices.IndexFunc(list, func(p *Process) bool { return p.PID == shown })
	return m.show(list[(at+n+len(list))%len(list)].PID)
}

// nextDevice goes through the devices and their sum.
func (m *Model) nextDevice() tea.Cmd {
	devices := m.frame.Devices
	if len(devices) < 2 {
		return m.say("the program uses no second device")
	}
	at := slices.Index(devices, m.frame.View.Device)
	m.view.Device = AllDevices
	if at+1 < len(devices) {
		m.view.Device = devices[at+1]
	}
	return m.look()
}

// mouse selects and scrolls.
func (m *Model) mouse(e tea.MouseMsg) tea.Cmd {
	if m.help || m.ask != nil || m.filter != nil {
		return nil
	}
	p, ok := at(m.places, e.X, e.Y)
	if !ok {
		return nil
	}
	switch e.Button {
	case tea.MouseButtonWheelUp, tea.MouseButtonWheelDown:
		n := 1
		if e.Button == tea.MouseButtonWheelUp {
			n = -1
		}
		if p.panel == panelAccounts {
			return m.zoom(map[int]float64{-1: .8, 1: 1.25}[n])
		}
		focus := m.focus
		m.focus = p.panel
		m.move(3 * n)
		m.focus = focus
	case tea.MouseButtonLeft:
		if e.Action != tea.MouseActionPress {
			return nil
		}
		again := m.focus == p.panel
		m.focus = p.panel
		if p.panel == panelProcesses {
			return m.click(p, e.Y, again)
		}
	}
	return nil
}

// click selects the process of a line; a second click on it shows it.
func (m *Model) click(p place, y int, again bool) tea.Cmd {
	list := m.order.list(m.frame)
	room := max(p.h-2, 0)
	chosen := max(slices.IndexFunc(list, func(x *Process) bool { return x.PID == m.selected }), 0)
	from := min(max(chosen-room/2, 0), max(len(list)-room, 0))
	i := from + y - p.y - 2
	if y-p.y < 2 || i >= len(list) {
		return nil
	}
	if again && list[i].PID == m.selected {
		return m.show(m.selected)
	}
	m.selected = list[i].PID
	return nil
}
