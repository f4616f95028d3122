package tui

import (
	"cmp"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/gpumem/gpumem/internal/units"
)

// terminate asks whether the selected process is to be ended, by name, and only a yes
// sends the signal.
func (m *Model) terminate() tea.Cmd {
	end := m.o.Control.Terminate
	if end == nil {
		return m.say("processes are ended from gpumem watch only")
	}
	p := m.process(m.frame)
	switch {
	case p == nil:
		return m.say("no process is selected")
	case p.Gone:
		return m.say(fmt.Sprintf("PID %d has ended already", p.PID))
	}
	pid, who := p.PID, cmp.Or(p.Name, units.Unknown)
	if p.User != "" {
		who += " of " + p.User
	}
	m.ask = &question{fmt.Sprintf("Send SIGTERM to PID %d (%s)?", pid, cut(who, 40)),
		[]answer{{"y", "yes, end it", "yes", func() tea.Cmd {
			return do(func() (string, error) {
				return fmt.Sprintf("SIGTERM is sent to PID %d", pid), end(pid)
			})
		}}}}
	return nil
}
