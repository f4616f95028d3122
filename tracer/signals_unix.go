//go:build unix

package tracer

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// signals are the signals that come while a program runs. The package's
// documentation says which are passed on, and why.
type signals struct {
	came   chan os.Signal
	moved  chan os.Signal // SIGCHLD: the program may have stopped
	shared bool           // the program is in our process group, and gets the terminal's signals itself
	job    job
}

// takeSignals begins to take signals. SIGXFSZ is taken so that a full quota is
// an error of write and not the end of the tracer. The screen, if there is one,
// gives the terminal back before it stops us.
func takeSignals(screen bool) *signals {
	s := &signals{came: make(chan os.Signal, 64), moved: make(chan os.Signal, 1), shared: sharesTerminal()}
	s.job.screen = screen
	ignored := s.job.take(s.moved)
	for _, sig := range append(passedOn(), unix.SIGXFSZ) {
		// What was ignored from the start, by nohup or a background shell, the
		// program ignores as well, and so do we.
		if number, _ := sig.(syscall.Signal); !signal.Ignored(sig) && !ignored(number) {
			signal.Notify(s.came, sig)
		}
	}
	return s
}

// stop ends it, and takes the terminal back if the program has it.
func (s *signals) stop() {
	signal.Stop(s.came)
	signal.Stop(s.moved)
	s.job.takeBack()
}

// inForeground reports whether our process group is in the foreground of our
// terminal, whose signals then reach the group.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
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
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !s.shared}
}

// pass passes a signal on that came to us.
func (s *signals) pass(p *os.Process, sig os.Signal) {
	switch sig {
	case unix.SIGXFSZ:
	case unix.SIGINT, unix.SIGQUIT, unix.SIGHUP:
		if !s.shared {
			s.end(p, sig)
		}
	case unix.SIGTERM:
		s.end(p, sig)
	case unix.SIGTSTP, unix.SIGWINCH:
		if sig == unix.SIGTSTP {
			s.job.asked = time.Now()
		}
		if !s.shared || !inForeground() {
			s.send(p, sig)
		}
		s.follow(p) // one that is stopped already does not stop again
	case unix.SIGCONT:
		s.goOn(p)
	default:
		p.Signal(sig) // an error says that the program has ended
	}
}

// end sends a signal that may end the program. One that is stopped, while
// nothing could stop us with it, would not take it.
func (s *signals) end(p *os.Process, sig os.Signal) {
	s.send(p, sig)
	if s.job.held {
		s.send(p, unix.SIGCONT)
	}
}

// send sends a signal to the program and, when it has a group of its own, to
// that.
func (s *signals) send(p *os.Process, sig os.Signal) {
	number, ok := sig.(syscall.Signal)
	if s.shared || !ok || unix.Kill(-p.Pid, number) != nil {
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
