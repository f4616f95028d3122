//go:build unix

package tracer

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// signals are the signals that come while a program runs.
type signals struct {
	came     chan os.Signal
	terminal bool // the program gets the terminal's signals itself
}

// takeSignals begins to take signals. SIGXFSZ is taken so that a full quota is
// an error of write and not the end of the tracer.
func takeSignals() *signals {
	s := &signals{came: make(chan os.Signal, 16), terminal: inForeground()}
	for _, sig := range [...]os.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGXFSZ,
	} {
		// What was ignored from the start, by nohup or a background shell, the
		// program ignores as well, and so do we.
		if !signal.Ignored(sig) {
			signal.Notify(s.came, sig)
		}
	}
	return s
}

func (s *signals) stop() { signal.Stop(s.came) }

// inForeground reports whether we are in the foreground of a terminal, whose
// signals then reach our whole process group.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// prepare puts the program into a process group of its own, unless it shares
// the terminal with us.
func (s *signals) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !s.terminal}
}

// pass passes a signal on that came to us.
func (s *signals) pass(p *os.Process, sig os.Signal) {
	switch sig {
	case unix.SIGXFSZ:
	case unix.SIGINT, unix.SIGQUIT, unix.SIGHUP:
		if !s.terminal {
			s.send(p, sig)
		}
	case unix.SIGTERM:
		s.send(p, sig)
	default:
		p.Signal(sig) // an error says that the program has ended
	}
}

// send sends a signal to the program and, when it has a group of its own, to
// that.
func (s *signals) send(p *os.Process, sig os.Signal) {
	number, ok := sig.(syscall.Signal)
	if s.terminal || !ok || unix.Kill(-p.Pid, number) != nil {
		p.Signal(sig)
	}
}

// endings are the signals that end a program, from polite to certain.
func (s *signals) endings() []os.Signal {
	return []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGKILL}
}

// endingOf reads how a program ended.
func endingOf(state *os.ProcessState) ending {
	if state == nil {
		return ending{code: -1}
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		name := unix.SignalName(w.Signal())
		if name == "" {
			name = w.Signal().String()
		}
		return ending{code: 128 + int(w.Signal()), signal: name}
	}
	return ending{code: state.ExitCode()}
}
