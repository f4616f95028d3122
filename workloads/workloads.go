package workloads

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/soft"
	"github.com/gpumem/gpumem/pool"
)

// Workload is a bundled program.
type Workload struct {
	Name    string
	Summary string
	Faults  []Fault
	// Truths are policies under which the healthy program has another verdict
	// than none.
	Truths []Fault
	Flags  []Flag
	device DeviceFaults // of every run
	// check reports what is wrong with settings beyond each one's form, before a
	// device is opened; nil has nothing to check.
	check func(*program) error
	run   func(context.Context, *program) error
}

// Fault is a defect that a workload can plant, and what it must be judged as.
type Fault struct {
	Name    string
	Summary string
	// Truth is the verdict (app-leak, driver-growth, …), Cause the cause that
	// must be named; empty when nothing is promised.
	Truth string
	Cause string
	Also  string // a second cause that must be named, of a second defect
}

// Flag is a setting of one workload.
type Flag struct {
	Name    string
	Default string
	Help    string
	// Bare is the value of a flag that is given without one; empty needs one.
	Bare string
	// Check reports what is wrong with a value.
	Check func(string) error
}

// Env is what a workload runs in.
type Env struct {
	// Open opens the device with planted defects; nil is the host: no device.
	Open func(DeviceFaults) (metal.Device, error)
	// Policy is the name of the pool's policy; empty is default.
	Policy string
	Fault  string // empty is healthy
	Seed   int64
	Repeat int // at least 1
	// Flags are values by name; absent ones have their default.
	Flags map[string]string
	// LeakThreshold is what the memory check lets stay, in bytes.
	LeakThreshold  int64
	Stdin          io.Reader // nil has nothing to say
	Stdout, Stderr io.Writer
	LookupEnv      func(string) (string, bool)
	TempDir        string
}

// DeviceFaults are habits and defects of the device that a workload or its
// fault needs.
type DeviceFaults struct {
	SlowDevice    bool // completes later than a busy program commits
	NoAutorelease bool // leaves out the autorelease pools that the driver has of its own
	// Leaks are for the soft device alone; others have their own.
	Leaks      soft.Leaks
	MaxBuffers int // that may exist at once; 0 is the device's own limit
}

// All lists the workloads.
func All() []Workload {
	all := []Workload{modelLoad(), nQueens(), xor(), sine(), inference(), generate()}
	for i := range all {
		all[i].Flags = append(all[i].Flags, poolFlags()...)
	}
	return all
}

// poolFlags are settings that every workload has: of its pool and its commands.
func poolFlags() []Flag {
	return []Flag{
		whole("pool-cap", -1, -1, "idle buffers a size class; -1 is the policy's own"),
		whole("param-cap", -1, -1,
			"idle parameter buffers of each kind; 0 passes parameters without buffers, "+
				"-1 is the policy's own"),
		whole("commands", 0, 0, "commands before the program waits for the device; 0 is the policy's own, "+
			"or 100"),
	}
}

// ByName finds a workload.
func ByName(name string) (*Workload, bool) {
	for _, w := range All() {
		if w.Name == name {
			return &w, true
		}
	}
	return nil, false
}

// Fault finds a fault of the workload.
func (w *Workload) Fault(name string) (Fault, bool) {
	for _, f := range w.Faults {
		if f.Name == name {
			return f, true
		}
	}
	return Fault{}, false
}

// Flag finds a setting of the workload.
func (w *Workload) Flag(name string) (Flag, bool) {
	for _, f := range w.Flags {
		if f.Name == name {
			return f, true
		}
	}
	return Flag{}, false
}

// Run runs the workload to its end. The error is for a run that could not do
// its work: a bad setting, out of memory, a result that is wrong. A planted
// fault is no error.
func (w *Workload) Run(ctx context.Context, e Env) error {
	if _, ok := w.Fault(e.Fault); e.Fault != "" && !ok {
		return fmt.Errorf("%s has no fault %q", w.Name, e.Fault)
	}
	if err := w.Check(e); err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	p, err := newProgram(w, e)
	if err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	if err := p.end(w.run(ctx, p)); err != nil {
		return fmt.Errorf("%s: %w", w.Name, err)
	}
	return nil
}

// Check reports the first thing that is wrong with the settings of e, with the
// variables of its environment, and with a file that they name: what, where and what
// to try. It reads Flags, Seed, Repeat and LookupEnv, opens no device and prints
// nothing. Run checks the same.
func (w *Workload) Check(e Env) error {
	for name, value := range e.Flags {
		f, ok := w.Flag(name)
		if !ok {
			return fmt.Errorf("%s has no flag --%s", w.Name, name)
		}
		if f.Check == nil {
			continue
		}
		if err := f.Check(value); err != nil {
			return fmt.Errorf("--%s %s: %w", name, value, err)
		}
	}
	p := &program{Env: e, workload: w}
	if _, err := p.tuned(&pool.Policy{}); err != nil || w.check == nil {
		return err
	}
	return w.check(p)
}

// whole is a flag with a whole number from low on.
func whole(name string, value, low int, help string) Flag {
	return Flag{Name: name, Default: strconv.Itoa(value), Help: help, Check: func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < low {
			return fmt.Errorf("must be a whole number from %d on", low)
		}
		return nil
	}}
}
