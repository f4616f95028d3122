package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// Run shows a screen on a terminal until it is closed, ctx is done or the
// terminal is gone. in and out must be terminals. Whatever happens, the terminal
// is as it was when Run returns. It takes SIGTSTP and SIGCONT, no other signals.
func Run(ctx context.Context, o Options, in, out *os.File) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	model := New(inner, o)
	p := tea.NewProgram(model,
		tea.WithContext(inner), tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen(), tea.WithMouseCellMotion(),
		tea.WithoutSignalHandler(), tea.WithFPS(30), tea.WithFilter(dropReports),
	)
	stop := takeJobControl(p)
	defer stop()
	_, err := p.Run()
	switch {
	case ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic):
		return nil // it was told to end
	case err != nil:
		return fmt.Errorf("the screen ended: %w", err)
	}
	return nil
}

// dropReports drops what terminals answer to queries: Bubble Tea takes it for
// keys.
func dropReports(_ tea.Model, msg tea.Msg) tea.Msg {
	if k, ok := msg.(tea.KeyMsg); ok && k.Type == tea.KeyRunes {
		text := string(k.Runes)
		if k.Alt && strings.HasPrefix(text, "]") || strings.Contains(text, ";rgb:") {
			return nil
		}
	}
	return msg
}
