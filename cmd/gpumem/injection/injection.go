package injection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/capture"
	"github.com/gpumem/gpumem/tracer/record"
)

// Auto is the value of --inject that takes what fits: the Python agent,
// and the interposer where the loader can bring it in.
const Auto = "auto"

// Modes are the values of --inject for a program that is started.
func Modes() []string {
	return []string{Auto, "preload", "audit", "ebpf", "python", "none"}
}

// Injection is what goes into a user's program so that it tells what only it
// knows: files in private folders that exist as long as the run, and
// environment variables that point to them.
type Injection struct {
	mode     string
	command  string
	added    []string               // variables for the program beside our environment
	dirs     []string               // to be removed
	undo     []func() error         // removes what was installed
	python   string                 // folder of the Python agent, empty without
	runs     atomic.Pointer[string] // what the program is by now, see follow
	driver   *driverCapture
	purge    bool               // trim the driver's pools when the program exits
	rings    *capture.Directory // nil without the interposer
	warnings []string
}

// Options say what goes into a program that is started.
type Options struct {
	Mode    string   // of [Modes]
	Command []string // the program of the user's; a bundled workload has none, and needs nothing
	Purge   bool     // trim the driver's pools when the program exits
	Sites   bool     // have the framework record where each block is asked for, which costs time
	Profile string   // which window of steps is recorded, as --profile says
}

// New prepares an injection. [Injection.End] removes it.
func New(o Options) *Injection {
	in := &Injection{mode: o.Mode, purge: o.Purge}
	if o.Mode == "none" || len(o.Command) == 0 {
		return in
	}
	in.command = o.Command[0]
	if err := in.addPython(o.Sites); err != nil {
		in.warn(err)
	}
	if o.Mode != "python" {
		if err := in.addCapture(); err != nil {
			in.warn(err)
		}
	}
	in.profile(o.Profile)
	return in
}

// Probes are what looks into a program that runs already without changing it.
func Probes(mode string) *Injection {
	in := &Injection{mode: mode}
	if mode == string(capture.ModeEBPF) || mode == Auto {
		in.driver = &driverCapture{mode: capture.ModeEBPF}
	}
	return in
}

// Warnings say what could not be prepared; the program ran without it.
func (in *Injection) Warnings() []string { return in.warnings }

// addPython puts the Python agent on the program's path.
func (in *Injection) addPython(sites bool) error {
	where, vars, remove, err := InstallPython()
	if err != nil {
		return err
	}
	in.undo = append(in.undo, remove)
	in.python = where
	for name, value := range vars {
		in.set(name, value)
	}
	if sites {
		in.set("GPUMEM_SITES", "1")
	}
	if self, err := os.Executable(); err == nil {
		in.set(EnvBinary, self) // by which gpumem.watch() judges
	}
	return nil
}

// addCapture puts the interposer between the program and the driver.
func (in *Injection) addCapture() error {
	mode := capture.Mode(in.mode)
	if in.mode == Auto {
		mode = capture.ModePreload
		if capture.Obstacle(in.command) != "" {
			return nil // nobody asked for it in particular
		}
	}
	in.driver = &driverCapture{mode: mode}
	if mode == capture.ModeEBPF {
		return nil // begins with the program
	}
	dir, err := capture.TempDir()
	if err != nil {
		return err
	}
	in.rings = dir
	vars, err := capture.Prepare(dir.Path, mode, os.Environ())
	switch {
	case errors.Is(err, capture.ErrUnsupported) && in.mode == Auto:
		return nil
	case err != nil:
		return err
	}
	for _, entry := range vars {
		name, value, _ := strings.Cut(entry, "=")
		in.set(name, value)
	}
	if in.purge {
		in.set(capture.EnvPurge, "1")
	}
	reader, err := capture.Open(dir.Path)
	if err != nil {
		return err
	}
	in.driver.reader.Store(reader)
	return nil
}

func (in *Injection) warn(err error) { in.warnings = append(in.warnings, err.Error()) }

// set adds a variable for the program.
func (in *Injection) set(name, value string) { in.added = append(in.added, name+"="+value) }

// Into hands the injection to a trace. With firstTouch the growth of host memory
// is looked into as well.
func (in *Injection) Into(cfg *tracer.Config, firstTouch bool) {
	cfg.Inject = in.added
	if in.driver != nil {
		cfg.Cells, cfg.Exiting = in.driver, in.driver.final
	}
	cfg.Watch = append(cfg.Watch, in.watch)
	if in.python != "" {
		cfg.Watch = append(cfg.Watch, in.watchPython)
		cfg.Unheard = in.unheard
	}
	if firstTouch {
		cfg.Watch = append(cfg.Watch, watchFirstTouch, watchChildren)
	}
}

// watch follows the program at the driver until it ends, and then tells what it
// still held there.
func (in *Injection) watch(ctx context.Context, pid int, emit func(record.Event)) {
	if in.driver == nil {
		return
	}
	if in.driver.mode == capture.ModeEBPF {
		reader, err := capture.Attach(pid)
		if in.mode == Auto && (errors.Is(err, capture.ErrPrivileges) ||
			errors.Is(err, capture.ErrUnsupported)) {
			return // nobody asked for probes in particular
		}
		if err != nil {
			emit(record.Event{PID: pid, Kind: record.KindWarning, Text: err.Error()})
			return
		}
		in.driver.reader.Store(reader)
	}
	<-ctx.Done()
	in.driver.tell(in.mode != Auto, pid, in.command, emit)
}

// End removes what was injected.
func (in *Injection) End() {
	if in.driver != nil {
		if reader := in.driver.reader.Load(); reader != nil {
			if err := reader.Close(); err != nil {
				in.warn(err)
			}
		}
	}
	if in.rings != nil {
		if err := in.rings.Remove(); err != nil {
			in.warn(err)
		}
	}
	for _, dir := range in.dirs {
		if err := os.RemoveAll(dir); err != nil {
			in.warn(err)
		}
	}
	for _, remove := range in.undo {
		if err := remove(); err != nil {
			in.warn(err)
		}
	}
}

// driverCapture is what the program asks of the driver, as a source of columns.
type driverCapture struct {
	mode   capture.Mode
	reader atomic.Pointer[capture.Reader] // nil before there is one
}

// Poll takes in what was captured since the last.
func (d *driverCapture) Poll() error {
	if reader := d.reader.Load(); reader != nil {
		return reader.Poll()
	}
	return nil
}

// refused is the event of an allocation that the driver refused, at its own time.
func refused(pid int, f *capture.Failure) record.Event {
	d := record.Refusal{Asked: &f.Bytes, Live: &f.LiveBytes, Kind: f.Kind, Code: f.Code, Own: f.Own}
	if f.FreeBytes >= 0 {
		d.Free = &f.FreeBytes
	}
	if f.Device >= 0 {
		d.Device = &f.Device
	}
	detail, err := json.Marshal(d)
	if err != nil {
		detail = nil
	}
	return record.Event{TMs: float64(f.Time) / float64(time.Millisecond), PID: pid, Kind: record.KindEvent,
		Name: record.EventRefused, At: f.Site, Detail: detail, Sites: f.Held[:min(len(f.Held), mostHeld)],
		Text: fmt.Sprintf("the driver refused %d B of %s (code %d) while %d B were held", f.Bytes,
			f.Kind, f.Code, f.LiveBytes)}
}

// mostHeld bounds the sites that one refusal tells.
const mostHeld = 20

// tellLooks reports what a process held while it ran, each look at its own time.
func tellLooks(pid int, looks []capture.Look, clock agent.Clock, emit func(record.Event)) {
	for _, look := range looks {
		at := time.Duration(clock.Now()) - time.Since(look.At)
		emit(record.Event{TMs: float64(at) / float64(time.Millisecond), PID: pid,
			Kind: record.KindDriverSites, Name: record.NameLook, Sites: look.Sites})
	}
}

// Cells are the columns of a process.
func (d *driverCapture) Cells(pid int) []record.Cell {
	if reader := d.reader.Load(); reader != nil {
		return reader.Cells(pid)
	}
	return nil
}

// final notes what a process holds before it ends. An error is told at the end,
// when it comes again.
func (d *driverCapture) final(pid int) {
	if reader := d.reader.Load(); reader != nil {
		_ = reader.Final(pid)
	}
}

// tell reports survivors, refused allocations and what is missing, of each
// process that was seen; with explain also why the program itself was not.
func (d *driverCapture) tell(explain bool, main int, command string, emit func(record.Event)) {
	reader := d.reader.Load()
	if reader == nil {
		return
	}
	warn := func(pid int, text string) {
		emit(record.Event{PID: pid, Kind: record.KindWarning, Text: text})
	}
	if err := reader.Poll(); err != nil {
		warn(0, err.Error())
	}
	clock := agent.NewClock()
	for _, pid := range reader.PIDs() {
		sites := reader.Sites(pid)
		if len(sites) > 0 {
			tellLooks(pid, reader.Looks(pid), clock, emit)
			emit(record.Event{PID: pid, Kind: record.KindDriverSites, Sites: sites[:min(len(sites), 200)]})
		}
		if receipt, ok := reader.Trimmed(pid); ok {
			emit(record.Event{PID: pid, Kind: record.KindReceipt, Name: receipt.Action, Receipt: &receipt,
				Text: "the driver's pools were trimmed when the program exited"})
		}
		for _, f := range reader.Failures(pid) {
			emit(refused(pid, &f))
		}
		if reader.Cells(pid) == nil {
			continue
		}
		for _, text := range reader.Warnings(pid) {
			warn(pid, text)
		}
	}
	for _, pid := range reader.Past() {
		emit(record.Event{PID: pid, Kind: record.KindWarning, Name: record.WarningPast,
			Text: fmt.Sprintf("process %d: a library that was opened with RTLD_DEEPBIND calls the driver "+
				"past the interposer; what it asked for is not recorded: try --inject=audit", pid)})
	}
	if why := reader.Why(main, command); explain && why != "" {
		warn(main, "nothing was captured at the driver: "+why)
	}
}
