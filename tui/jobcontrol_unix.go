//go:build unix

package tui

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	tea "github.com/charmbracelet/bubbletea"
)

// takeJobControl gives the terminal back when another process stops us, and
// takes it again when we go on; also after SIGSTOP, which nobody can take, when
// a shell may have changed the terminal. The key for suspending goes the same
// way inside Bubble Tea. held is told who has the terminal.
func takeJobControl(p *tea.Program, held func(bool)) (stop func()) {
	stops, conts, done := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(stops, syscall.SIGTSTP)
	signal.Notify(conts, syscall.SIGCONT)
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-stops:
				if p.ReleaseTerminal() != nil {
					continue
				}
				held(false)
				// SIGTSTP was taken, and the runtime does not give its default
				// action back; this one nobody takes.
				syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				<-conts
				held(true)
				retake(p)
			case <-conts:
				if p.ReleaseTerminal() == nil {
					retake(p)
				}
			}
		}
	})
	return func() {
		signal.Stop(stops)
		signal.Stop(conts)
		close(done)
		wait.Wait()
	}
}

func retake(p *tea.Program) {
	if p.RestoreTerminal() == nil {
		p.Send(tea.ResumeMsg{})
	}
}

// suspend stops our whole process group, as the key does where no screen takes
// it: nothing is recorded of a program that would run on meanwhile.
func suspend() tea.Msg {
	syscall.Kill(0, syscall.SIGTSTP)
	return nil
}
