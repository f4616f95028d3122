// Package tui is the live screen: one Bubble Tea model over plain panels.
//
// # Who does what
//
// A Source makes frames. A Frame is immutable and complete: everything the
// screen shows at one moment, already decimated to the number of columns that
// the screen asked for. The model only keeps what a person chose (focus, window
// in time, sorting, filter) and hands frame and choice to the panels. A panel is
// a plain struct with Render(width, height int) string and no memory of its own.
//
// Update never waits and never computes. Reading files, gathering rows and
// judging them happen in goroutines of the source; the model waits for a frame
// in a command. Frames come at a fixed rate at most. Those that would have been
// due while the screen was paused, slow or far away are not made, only counted,
// and the count is shown. Nothing the screen does can slow the recording: the
// tracer writes its files, and the screen reads them.
//
// # Sources
//
// Feed is a view of a live set of processes (package live), which judges them: it
// keeps beside each what the charts are drawn from, and makes frames. Folder is a
// Feed with the goroutine that reads a run folder: it follows one that is being
// written, by this process or another, and plays back one that is finished.
//
// # Terminals
//
// Run gives the terminal back however the screen ends. One that is lost ends the
// screen (ErrGone), one that accepts no output is not waited for once the run is
// over (ErrFrozen); neither ends anything else. What no process can do for
// itself, to give the terminal back after a panic of any goroutine or SIGKILL,
// its command has to do: Options.Held says when there is something to give back.
//
// # Assumptions
//
// A terminal of at least 20 by 5 cells; below 60 by 20 panels are cut. The
// widths of characters are those of github.com/charmbracelet/x/ansi, which the
// renderer uses as well. Text of traced programs is cleaned of control
// characters before it is shown.
//
// The package composes with tracer/record (rows, events, run.json, Follow) and
// report/live (the processes and the verdicts on them); it knows neither tracer nor
// devices.
package tui
