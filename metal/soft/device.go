package soft

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

const (
	// pageSize is that of Apple's GPUs.
	pageSize = 16 << 10
	// maxBuffers is Metal's limit when iogpu.rsrc_limit is unset (MLX,
	// backend/metal/allocator).
	maxBuffers = 499_000
	// workingSetShare of the machine's memory is the default budget; Apple
	// recommends between 2/3 and 3/4 of it.
	workingSetShare = 0.7
	// pipelineBytes are what a compiled kernel takes of the driver's memory until
	// it is released. Metal does not tell what its own take.
	pipelineBytes = 128 << 10
)

// Options describe the device to open. The zero value is the machine's own.
type Options struct {
	Name            string // default "soft"
	WorkingSet      uint64 // budget in bytes; default 70 % of the machine's memory
	MaxBufferLength uint64 // default the working set
	MaxBuffers      int    // default 499,000
	Workers         int    // goroutines a kernel is spread over; default GOMAXPROCS
	Faults          Faults
	Leaks           Leaks
}

// Faults are planted defects, all of which this driver has.
type Faults = metal.Faults

// Device is the device. See metal.Device for the contract of its methods.
type Device struct {
	ledger *command.Ledger
	faults Faults
	leaks  Leaks
	runner runner
	temps  temporaries
	store  store
	kept   kept
}

var _ metal.Device = (*Device)(nil)

// Open opens a device of its own: two devices share nothing. It fails when the
// options contradict each other.
func Open(o Options) (*Device, error) {
	if o.WorkingSet == 0 {
		o.WorkingSet = uint64(workingSetShare * float64(machineMemory()))
	}
	if o.WorkingSet > math.MaxInt64 || o.MaxBufferLength > math.MaxInt64 {
		return nil, fmt.Errorf("open soft device: more than %d B: %w", uint64(math.MaxInt64),
			metal.ErrInvalid)
	}
	if o.MaxBuffers < 0 || o.Workers < 0 || o.Leaks.CommandBufferBytes < 0 {
		return nil, fmt.Errorf("open soft device: negative option: %w", metal.ErrInvalid)
	}
	if err := o.Faults.Check(); err != nil {
		return nil, fmt.Errorf("open soft device: %w", err)
	}
	info := metal.Info{
		Name: cmp.Or(o.Name, "soft"), Driver: "soft", Unified: true,
		MaxBufferLength:       cmp.Or(o.MaxBufferLength, o.WorkingSet),
		RecommendedWorkingSet: o.WorkingSet,
		MaxBuffers:            cmp.Or(o.MaxBuffers, maxBuffers),
		PageSize:              pageSize,
	}
	return &Device{
		ledger: command.NewLedger(info, o.Faults),
		faults: o.Faults,
		leaks:  o.Leaks,
		runner: runner{workers: cmp.Or(o.Workers, runtime.GOMAXPROCS(0))},
	}, nil
}

// Info describes the device.
func (d *Device) Info() metal.Info { return d.ledger.Info() }

// Usage is what a driver counts; temporaries are not in it.
func (d *Device) Usage() metal.Usage { return d.ledger.Usage() }

// TemporaryBytes is what command buffers and encoders made and no autorelease
// scope has freed yet. Real drivers do not tell.
func (d *Device) TemporaryBytes() int64 { return d.temps.inUse() }

// Autorelease runs f inside a scope. The scopes of a device form one stack
// whatever goroutine opened them: a temporary belongs to the scope opened last
// among those still open.
func (d *Device) Autorelease(f func()) {
	if d.faults.NoAutorelease {
		f()
		return
	}
	s := d.temps.push()
	defer d.temps.drain(s)
	f()
}

// pipeline is a kernel in Go, with memory for what a driver would have compiled.
type pipeline struct{ command.Pipeline }

// NewPipeline finds the kernel of that name.
func (d *Device) NewPipeline(kernel string) (metal.Pipeline, error) {
	p := &pipeline{}
	if err := p.Admit(d.ledger, kernel); err != nil {
		return nil, err
	}
	code, err := d.store.get(pipelineBytes)
	if err != nil {
		p.Refused()
		return nil, fmt.Errorf("new pipeline %q: map %d B: %v: %w", kernel, pipelineBytes,
			err, metal.ErrOutOfMemory)
	}
	touch(code.memory)
	p.OnFree(func() error { return d.store.put(code) })
	return p, nil
}

// touch makes memory resident.
func touch(memory []byte) {
	for i := range memory {
		memory[i] = byte(i)
	}
}

// Close gives the device up. It returns an error matching metal.ErrInvalid
// that names what was not released; then the device stays open.
func (d *Device) Close() error {
	if err := d.kept.letGo(); err != nil {
		return err
	}
	if err := d.ledger.Close(); err != nil {
		return err
	}
	return errors.Join(d.temps.close(), d.kept.close(&d.store), d.store.close())
}
