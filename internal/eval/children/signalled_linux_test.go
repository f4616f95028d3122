package children

import (
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalled are signals that come to gpumem, and so to the program.
func signalled() []kind {
	faults := []syscall.Signal{unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV,
		unix.SIGSYS, unix.SIGSTKFLT}
	var all []kind
	for number := 1; number <= 64; number++ {
		switch s := syscall.Signal(number); {
		case s == unix.SIGKILL, s == unix.SIGSTOP:
			continue // nobody can handle them
		case slices.Contains(faults, s):
			continue // of the process that gets them
		case number > 31 && number != 36 && number != 64:
			continue // one as the other
		}
		name := unix.SignalName(syscall.Signal(number))
		if name == "" {
			name = fmt.Sprintf("signal %d", number)
		}
		var own []difference
		switch syscall.Signal(number) {
		case unix.SIGCHLD, unix.SIGURG, unix.SIGXFSZ, unix.SIGPIPE, unix.SIGXCPU, unix.SIGPROF,
			unix.SIGTTIN, unix.SIGTTOU:
			own = []difference{differs("the signal tells gpumem of its own children, files, time and terminal",
				`^[-+]stdout: (got|ended|it never came)`)}
		}
		send := fmt.Sprintf("acts send %d run acts await %d", number, number)
		all = append(all, kind{name: name + " to gpumem, handled", outer: send, differs: own})
		switch syscall.Signal(number) {
		case unix.SIGCHLD, unix.SIGCONT, unix.SIGURG, unix.SIGWINCH, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
			continue // end nothing
		}
		send = "ulimit -c 0; " + send + " end"
		all = append(all, kind{name: name + " to gpumem, which ends", outer: send, differs: own})
	}
	for _, s := range []struct {
		name   string
		number int
	}{{"SIGINT", 2}, {"SIGTERM", 15}, {"SIGHUP", 1}, {"SIGQUIT", 3}, {"SIGUSR1", 10}} {
		var group []difference
		if s.name != "SIGUSR1" {
			group = []difference{differs("the program leads a group of its own, to which what ends a job is passed "+
				"on: a signal does not tell whether gpumem alone or its whole group got it (package tracer)",
				`^\+stdout: the child got it as well`)}
		}
		all = append(all, kind{
			name:  s.name + " reaches the program, not its children",
			outer: fmt.Sprintf("acts send %d run acts family %d", s.number, s.number), differs: group,
		}, kind{
			name: s.name + " to Python",
			outer: fmt.Sprintf(`acts send %d run python3 -c 'print("ready", flush=True)
import time; time.sleep(3)'`, s.number),
		})
	}
	return append(all,
		kind{
			name:  "gpumem is stopped and goes on",
			outer: `acts send 19,18 run sh -c 'echo ready; sleep .5; exit 4'`,
		},
		kind{name: "Python ends while gpumem is stopped", outer: stoppedMeanwhile},
		kind{name: "two signals", outer: `acts send 15,15 run python3 -c 'import signal, time
signal.signal(15, lambda *a: (print("first", flush=True), signal.signal(15, signal.SIG_DFL)))
print("ready", flush=True); time.sleep(1); time.sleep(2)'`},
		kind{
			name:  "a program that ignores SIGTERM",
			outer: `acts send 15 run sh -c 'trap "" TERM; echo ready; sleep .5; exit 6'`,
		},
		kind{
			name: "a signal to the group of gpumem's starter", job: true,
			outer: `trap 'echo outer' USR1; run acts await 10 >out & p=$!
while ! grep -qs ready out; do sleep .02; done
kill -USR1 0; wait $p; wait $p; cat out; rm out`,
		},
	)
}

// stoppedMeanwhile stops gpumem, where there is one, before the program ends.
const stoppedMeanwhile = `run python3 -c 'import os, time
print(os.getpid(), "ready", flush=True); time.sleep(.5)' >out & p=$!
while ! grep -qs ready out; do sleep .02; done
c=$(cut -d' ' -f1 out); [ $c = $p ] || kill -STOP $p
for i in $(seq 250); do
	s=$(cut -d' ' -f3 /proc/$c/stat 2>/dev/null); [ -n "$s" ] && [ $s != Z ] || break; sleep .02
done
[ $i -lt 250 ] && echo ended in time; kill -CONT $p 2>/dev/null; wait $p; echo $?; rm out`
