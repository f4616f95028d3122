package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"
)

// Errors of Run for a terminal that is none any more. Match them with errors.Is.
var (
	// ErrGone says that the terminal was closed.
	ErrGone = errors.New("the terminal is gone")
	// ErrFrozen says that the terminal accepts no output: it is left as it is
	// but for its modes.
	ErrFrozen = errors.New("the terminal accepts no output")
)

const (
	// frozenAfter is how long a write may take before the terminal counts as
	// frozen, once the screen is to end.
	frozenAfter = 2 * time.Second
	frozenEvery = 200 * time.Millisecond
)

// Run shows a screen on a terminal until it is closed, ctx is done or the
// terminal is gone. in and out must be terminals. Whatever happens in here, the
// terminal is as it was when Run returns, but for one that is frozen: when the
// screen is to end and the terminal does not take that, Run sets its modes back
// and returns ErrFrozen. It takes SIGTSTP and SIGCONT, no other signals.
func Run(ctx context.Context, o Options, in, out *os.File) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Held == nil {
		o.Held = func(bool) {}
	}
	before, err := term.GetState(in.Fd())
	if err != nil {
		return fmt.Errorf("read the modes of the terminal: %w", err)
	}
	model, written := New(inner, o), &watchedTerminal{File: out}
	p := tea.NewProgram(model,
		tea.WithContext(inner), tea.WithInput(closingTerminal{in}), tea.WithOutput(written),
		tea.WithAltScreen(), tea.WithMouseCellMotion(),
		tea.WithoutSignalHandler(), tea.WithFPS(30), tea.WithFilter(dropReports),
	)
	o.Held(true)
	stop := takeJobControl(p, o.Held)
	ended := make(chan error, 1)
	go func() {
		_, err := p.Run()
		ended <- err
	}()
	err = written.wait(inner, o.Over, ended)
	if errors.Is(err, ErrFrozen) {
		cancel()
		// Not written through: the modes are set at once.
		return errors.Join(err, term.Restore(in.Fd(), before))
	}
	stop()
	o.Held(false)
	switch {
	case ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic):
		return nil // it was told to end
	case err != nil:
		return fmt.Errorf("the screen ended: %w", err)
	}
	return nil
}

// closingTerminal reads a terminal. Its end is an error: Bubble Tea would go on
// without keys when it is merely the end of what can be read.
type closingTerminal struct{ *os.File }

// Read implements io.Reader.
func (t closingTerminal) Read(p []byte) (int, error) {
	n, err := t.File.Read(p)
	if n == 0 && errors.Is(err, io.EOF) {
		return 0, ErrGone
	}
	return n, err
}

// watchedTerminal writes to a terminal and knows for how long it has been
// trying: a terminal that nobody reads, as over a stalled line, blocks.
type watchedTerminal struct {
	*os.File
	since atomic.Int64 // when the write that goes on began, in ns; 0 when none does
}

// Write implements io.Writer.
func (t *watchedTerminal) Write(p []byte) (int, error) {
	t.since.Store(time.Now().UnixNano())
	defer t.since.Store(0)
	return t.File.Write(p)
}

// frozen reports whether a write is stuck.
func (t *watchedTerminal) frozen() bool {
	since := t.since.Load()
	return since != 0 && time.Now().UnixNano()-since > int64(frozenAfter)
}

// wait waits for the screen's end; when that is due, by ctx or over, not for
// longer than a frozen terminal deserves.
func (t *watchedTerminal) wait(ctx context.Context, over <-chan struct{}, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	case <-over:
	}
	ticker := time.NewTicker(frozenEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
			if t.frozen() {
				return ErrFrozen
			}
		}
	}
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
