package tracer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// CellSource tells more columns of processes, such as what they allocate at the
// driver.
type CellSource interface {
	// Poll takes in what is new. It is called once an interval from one
	// goroutine and must not wait; an error is one warning in the run.
	Poll() error
	// Cells are the columns of a process as of the last Poll, nil when nothing
	// is known of it. The caller owns the slice.
	Cells(pid int) []record.Cell
}

// Config says what to trace and how.
type Config struct {
	// Command is the program and its arguments; the program is looked up in
	// PATH. Attach does not use it, nor Env, Dir and the three files.
	Command []string
	// Env is the environment of the program; nil is our own. The variables of
	// the agent protocol are set by Run.
	Env []string
	// Inject are variables beside Env that are gpumem's own doing: the program
	// has them, run.json does not tell them. They go before those of Env.
	Inject []string
	// Dir is the program's working folder; empty is our own.
	Dir string
	// Stdin, Stdout and Stderr are handed to the program as they are; nil is
	// the null device.
	Stdin, Stdout, Stderr *os.File
	// Logs writes what the program writes into stdout.log and stderr.log of the
	// run folder; Stdout and Stderr are then not used. Of each at most an eighth of
	// Keep stays, the beginning and the end, where the system can take out the rest
	// (Linux).
	Logs bool

	// Out is the run folder; Force replaces the run's files in one that exists.
	Out   string
	Force bool
	// Keep bounds the run folder, in bytes, as record.CreateOptions.Keep does; 0 keeps
	// everything.
	Keep int64
	// Resume has Attach go on in the run folder Out, which a recorder of the same process
	// has left.
	Resume bool
	// Meta is the beginning of run.json; what is empty and known here is
	// filled in: Command, Env, Host, OS, Machine, CapacityBytes, Start, IntervalMs, PID.
	Meta record.Meta

	// Interval between samples; 0 is 50 ms.
	Interval time.Duration
	// Calm is the time between samples of a process of which nothing moves
	// (sample.Calm), and Interval that of the others; they then also come further apart
	// where there are so many processes that sampling them would take more than 5 % of a
	// core. 0 samples all at Interval, whatever they do.
	Calm time.Duration
	// Purge asks for the experiments at the end.
	Purge bool
	// GPU is asked for the GPU bytes of the processes, from one goroutine, once an
	// interval; nil asks nobody. While it waits, rows go on without it. A process
	// that it leaves out is unknown. An error is one warning in the run, whatever
	// the number of times; it is asked again, once a second. The caller closes it.
	GPU probe.Reader
	// Charges, when set, tells what the devices hold for all processes. It is asked
	// when the program runs out of memory, and may be called beside GPU.
	Charges func(ctx context.Context) []probe.Charge
	// Grace is how long a program may take to end after SIGINT, and again
	// after SIGTERM, when ctx is done; 0 is 5 s. Then it is killed.
	Grace time.Duration

	// Cells, when set, adds columns to each row.
	Cells CellSource

	// Watch looks at the program beside the sampling, each function on a goroutine
	// of its own, and tells what it found as events. Their TMs is the time of the
	// monotonic clock in ms at which it happened, 0 for now. It
	// returns when ctx is done, which is when the program has ended.
	Watch []func(ctx context.Context, pid int, emit func(record.Event))

	// Exiting, when set, is called with a process that holds at its end until it
	// returns: the last moment to see what the program's work left behind.
	Exiting func(pid int)

	// Enter, when set, has Attach listen for agents, and bring one into the process:
	// it is called once, with the server that the agent is to find. A refusal is a warning
	// of the run, which goes on from outside.
	Enter func(pid int, server *agent.Server) (*Entered, error)

	// Unheard, when set, is called at the end when no agent has spoken for the
	// program itself; what it returns, if anything, is a warning of the run.
	Unheard func() string

	// Progress, when set, is called with the latest row of one process, the
	// first with an agent or else the program itself, from one goroutine of its
	// own and never twice at once. Rows that come while it runs are not shown to
	// it; sampling never waits for it.
	Progress func(Progress)

	// Control, when set, steers the run while it goes on.
	Control *Control

	pid int // of the process that Attach joins
}

// Entered is what was brought into a process that runs.
type Entered struct {
	// Free takes away what was needed for the way in; it is called when the agent has
	// spoken.
	Free func() error
	// Withdraw takes back an agent that has not come in, and reports whether nothing of
	// it stays.
	Withdraw func() bool
	// Stopped is how long the process stood still; 0 where it was not stopped.
	Stopped time.Duration
	// Waits says why nothing is heard of the agent yet, in a clause.
	Waits func() string
}

// Progress is the latest row of a run that goes on.
type Progress struct {
	Elapsed time.Duration // since the start of the run
	Rows    int64
	PID     int
	Row     record.Row // owned by the callee
	// Phase is the phase last marked, by any process.
	Phase string
}

// Result is how a run ended.
type Result struct {
	Dir string // the run folder
	PID int
	// ExitCode is the program's, or 128+n when signal n ended it, or -1 when
	// it is not known (Attach). When the program could not be started it is 127
	// (not found) or 126 (found, not startable), as shells have it.
	ExitCode int
	Signal   string // SIGKILL, …, or empty
	// Left is set when Control.Leave ended the recording of a program that
	// runs on; ExitCode is then -1.
	Left bool
	// Stays is what an agent that left a running process could not take out of it.
	Stays []string
	// Meta is run.json as written at the end.
	Meta     record.Meta
	Warnings []string
}

// StartError is returned by Run for a program that could not be started. The
// run folder is valid and says so.
type StartError struct {
	Command string
	Code    int // 127 or 126
	Err     error
}

// Error names the command, without what in it looks like a secret, and what a user can
// mend: the system's own words name neither the path nor the interpreter that is missing.
func (e *StartError) Error() string {
	return secret.Text(fmt.Sprintf("start %s: %s", e.Command, e.reason()))
}

func (e *StartError) reason() string {
	info, missing := os.Stat(e.Command)
	switch {
	case errors.Is(e.Err, exec.ErrNotFound):
		return "no such program on the PATH"
	case errors.Is(e.Err, os.ErrNotExist) && missing == nil:
		return "the file is here, and the interpreter or loader that it names is not"
	case errors.Is(e.Err, os.ErrPermission) && missing == nil && info.IsDir():
		return "a folder, no program"
	case errors.Is(e.Err, os.ErrPermission) && missing == nil && info.Mode()&0o111 == 0:
		return "the file is not executable: chmod +x it, or name the program that reads it first"
	}
	var path *os.PathError
	if errors.As(e.Err, &path) {
		return path.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap is the cause.
func (e *StartError) Unwrap() error { return e.Err }

const (
	defaultInterval = 50 * time.Millisecond
	defaultGrace    = 5 * time.Second
)

func (c *Config) setDefaults() {
	if c.Interval <= 0 {
		c.Interval = defaultInterval
	}
	c.Interval = max(c.Interval, time.Millisecond)
	if c.Grace <= 0 {
		c.Grace = defaultGrace
	}
}
