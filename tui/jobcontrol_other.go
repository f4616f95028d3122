//go:build !unix

package tui

import tea "github.com/charmbracelet/bubbletea"

// takeJobControl does nothing where there is no job control.
func takeJobControl(*tea.Program, func(bool)) (stop func()) { return func() {} }

// suspend does nothing.
func suspend() tea.Msg { return nil }
