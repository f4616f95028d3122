//go:build !unix

package tracer

import (
	"os"
	"os/exec"
	"os/signal"
)

// signals are the signals that come while a program runs. Ctrl-C reaches every
// process of a console, so there is nothing to pass on.
type signals struct {
	came  chan os.Signal
	moved chan os.Signal // nothing comes
}

func takeSignals(bool) *signals {
	s := &signals{came: make(chan os.Signal, 16)}
	signal.Notify(s.came, os.Interrupt)
	return s
}

func (s *signals) stop() { signal.Stop(s.came) }

func (s *signals) prepare(*exec.Cmd) {}

func (s *signals) pass(*os.Process, os.Signal) {}

func (s *signals) follow(*os.Process) {}

func (s *signals) send(p *os.Process, sig os.Signal) { p.Signal(sig) }

// endings are the signals that end a program; here there is only the last.
func (s *signals) endings() []os.Signal { return []os.Signal{os.Kill} }

// endingOf reads how a program ended.
func endingOf(state *os.ProcessState) ending {
	if state == nil {
		return ending{code: -1}
	}
	return ending{code: state.ExitCode()}
}
