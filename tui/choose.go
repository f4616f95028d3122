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
		m.selectBy(f, n)
		return
	case panelVerdict:
		limit = 200
	case panelSites:
		limit = len(f.Sites) + len(f.Holders)
	case panelComposition:
		if f.Composition != nil {
			limit = len(f.Composition.Parts)
		}
	case panelDevices:
		limit = len(f.Machine)
	case panelEvents, panelOutput: // these count from their end
		limit, n = len(f.Events), -n
		if m.focus == panelOutput {
			limit = len(f.Output)
		}
	}
	m.scroll[m.focus] = min(max(m.scroll[m.focus]+n, 0), limit)
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
			// A second click on a process shows it.
			if pid, twice := m.click(m.frame, p, e.Y); again && twice {
				return m.show(pid)
			}
		}
	}
	return nil
}
