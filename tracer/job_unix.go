//go:build unix && !linux

package tracer

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// job is empty where we do not look for stops of the program.
type job struct {
	screen bool
	asked  time.Time
	held   bool
}

// passedOn are the signals that the program gets from us. Signals that stop are
// left to the system: the program is in our group where there is a terminal.
func passedOn() []os.Signal {
	return []os.Signal{
		unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGALRM, unix.SIGCONT, unix.SIGWINCH,
	}
}

// sharesTerminal reports whether there is a terminal: the program then stays in
// our process group, so that the terminal stops and continues both.
func sharesTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

func (j *job) take(chan os.Signal) (ignored func(syscall.Signal) bool) {
	return func(syscall.Signal) bool { return false }
}

func (j *job) takeBack() {}

// follow does nothing: what stops the program stops us.
func (s *signals) follow(*os.Process) {}

// goOn continues the program.
func (s *signals) goOn(p *os.Process) { s.send(p, unix.SIGCONT) }
