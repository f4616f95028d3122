package injection

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/agent/python"
	"github.com/gpumem/gpumem/tracer/attach"
)

// AttachModes are the values of --inject for a program that runs already.
func AttachModes() []string { return []string{Auto, "python", "ebpf", "none"} }

// scriptName is the file that Python 3.14 reads the agent from.
const scriptName = "gpumem-agent.py"

// EnterPython is a tracer.Config.Enter that brings the Python agent in. The error is
// for a Python that cannot be entered; a program that is none has no agent to miss.
func EnterPython(late python.Late, asked bool) func(int, *agent.Server) (*tracer.Entered, error) {
	return func(pid int, server *agent.Server) (*tracer.Entered, error) {
		late.Socket = server.Path()
		text, err := python.Text(late)
		if err != nil {
			return nil, err
		}
		entry, err := attach.Python(pid, text, func(text []byte) (string, func() error, error) {
			return server.Put(scriptName, text)
		})
		switch {
		case errors.Is(err, attach.ErrNoPython) && !asked:
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		return &tracer.Entered{
			Free: entry.Free, Withdraw: entry.Withdraw, Stopped: entry.Stopped,
			Waits: func() string { return waits(pid, entry.Inside) },
		}, nil
	}
}

// waits says why a text that was queued has not run.
func waits(pid int, inside string) string {
	where := "a call of C"
	if now := attach.Inside(pid); now != "" {
		where = now
	} else if inside != "" {
		where = inside
	}
	return fmt.Sprintf("its main thread is in %s and has not come back to Python since", where)
}

// SettleOfGPU is how late a driver may tell what a process gave back.
const SettleOfGPU = 400 * time.Millisecond

// TellStays says what the agent left in the program, a line each.
func TellStays(to io.Writer, stays []string) {
	for _, what := range stays {
		fmt.Fprintf(to, "gpumem: the agent has left the program; still in it: %s\n", what)
	}
}
