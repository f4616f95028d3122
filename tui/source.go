package tui

import (
	"context"
	"math"

	"github.com/gpumem/gpumem/tracer/record"
)

// Source makes the frames of a screen. Its methods are safe for concurrent use.
type Source interface {
	// Next waits until a frame is due and returns it. The caller may keep the
	// frame but not change it. It returns ctx.Err() when ctx is done first, and
	// any other error once nothing more can come; the error is shown.
	Next(ctx context.Context) (*Frame, error)
	// Look says what the following frames should be of. It does not wait, and
	// makes a frame due at once.
	Look(View)
}

// Player is a source whose time the screen steers: a finished run that is
// played back. Its methods do not wait.
type Player interface {
	// SetSpeed plays at x times the speed of the run; 0 holds it.
	SetSpeed(x float64)
	// Seek goes to a time of the run in milliseconds.
	Seek(ms float64)
}

// Marker is a source that remembers a point to compare with.
type Marker interface {
	// Mark remembers the present values under a name.
	Mark(name string)
}

// AllDevices in View.Device is the sum over devices.
const AllDevices = -1

// View is what a screen wants to see of a source; see WholeView.
type View struct {
	PID    int // 0 is the main process
	Device int // AllDevices, or a device's number
	// ToMs is the end of the chart, NaN the latest; SpanMs its length, 0 all
	// time before the end.
	ToMs, SpanMs float64
	Columns      int // of the chart
}

// WholeView is the main process on all devices over all time.
func WholeView(columns int) View {
	return View{Device: AllDevices, ToMs: math.NaN(), Columns: columns}
}

// Control is what the screen may do to a program and with its run. A nil
// function is not offered. The functions are called off the screen's loop and
// may wait.
type Control struct {
	// Foreign is set for a program that is not bundled: experiments ask first.
	Foreign bool
	// Actions are those that the program offers now: collect, purge, trim, ….
	Actions func() []string
	// Experiment has the program do an action and returns what came of it, nil
	// when that has no bytes. It comes as an event as well.
	Experiment func(action string) (*record.Receipt, error)
	// Mark writes a mark into the run.
	Mark func(name string) error
	// End asks the program to end; Leave stops recording and leaves it running.
	End, Leave func()
	// Terminate asks a process of this machine to end, by SIGTERM.
	Terminate func(pid int) error
	// Report writes the report of the run so far and returns its path.
	Report func() (string, error)
	// Save writes a snapshot of the screen and returns its path.
	Save func(text string) (string, error)
}
