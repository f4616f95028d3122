package soft

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
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
	// defaultQueueLength is Metal's default of newCommandQueue.
	defaultQueueLength = 64
)

// Options describe the device to open. The zero value is the machine's own.
type Options struct {
	Name            string // default "soft"
	WorkingSet      uint64 // budget in bytes; default 70 % of the machine's memory
	MaxBufferLength uint64 // default the working set
	MaxBuffers      int    // default 499,000
	Workers         int    // goroutines a kernel is spread over; default GOMAXPROCS
	Faults          Faults
}

// Faults are planted defects. The zero value plants none.
type Faults struct {
	// FailAllocation makes the allocation of that number fail, from 1.
	FailAllocation int
	// ShrinkAfter that many allocations the budget becomes ShrinkTo bytes.
	ShrinkAfter int
	ShrinkTo    uint64
	// NoAutorelease makes Autorelease run its function without a scope.
	NoAutorelease bool
	// CompletionLag delays the completion of each command buffer.
	CompletionLag time.Duration
}

// Device is the device. See metal.Device for the contract of its methods.
type Device struct {
	info   metal.Info
	faults Faults
	runner runner
	temps  temporaries
	store  store

	mu        sync.Mutex
	budget    uint64
	usage     metal.Usage
	queues    int
	closed    bool
	allocated int // NewBuffer calls that passed the checks, for the faults
}

var _ metal.Device = (*Device)(nil)

// Open opens a device of its own: two devices share nothing. It fails when the
// options contradict each other.
func Open(o Options) (*Device, error) {
	if o.WorkingSet == 0 {
		o.WorkingSet = uint64(workingSetShare * float64(machineMemory()))
	}
	d := &Device{
		info: metal.Info{
			Name: cmp.Or(o.Name, "soft"), Driver: "soft", Unified: true,
			MaxBufferLength:       cmp.Or(o.MaxBufferLength, o.WorkingSet),
			RecommendedWorkingSet: o.WorkingSet,
			MaxBuffers:            cmp.Or(o.MaxBuffers, maxBuffers),
			PageSize:              pageSize,
		},
		faults: o.Faults,
		budget: o.WorkingSet,
		runner: runner{workers: cmp.Or(o.Workers, runtime.GOMAXPROCS(0))},
	}
	if o.WorkingSet > math.MaxInt64 || o.MaxBufferLength > math.MaxInt64 {
		return nil, fmt.Errorf("open soft device: more than %d B: %w", uint64(math.MaxInt64), metal.ErrInvalid)
	}
	if o.MaxBuffers < 0 || o.Workers < 0 || o.Faults.FailAllocation < 0 || o.Faults.ShrinkAfter < 0 || o.Faults.CompletionLag < 0 {
		return nil, fmt.Errorf("open soft device: negative option: %w", metal.ErrInvalid)
	}
	return d, nil
}

// Info describes the device.
func (d *Device) Info() metal.Info { return d.info }

// Usage is what a driver counts; temporaries are not in it.
func (d *Device) Usage() metal.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.usage
}

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

// NewPipeline finds the kernel of that name.
func (d *Device) NewPipeline(kernel string) (metal.Pipeline, error) {
	k, ok := kernels.ByName(kernel)
	if !ok {
		return nil, fmt.Errorf("new pipeline: no kernel %q: %w", kernel, metal.ErrInvalid)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("new pipeline %q: device: %w", kernel, metal.ErrReleased)
	}
	d.usage.Pipelines++
	return &pipeline{device: d, kernel: k}, nil
}

// Close gives the device up. It returns an error matching metal.ErrInvalid
// that names what was not released; then the device stays open.
func (d *Device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("close soft device: %w", metal.ErrReleased)
	}
	var left []string
	for _, kind := range []struct {
		n    int64
		what string
	}{
		{d.usage.Buffers, "buffers"}, {d.usage.CommandBuffers, "command buffers"},
		{d.usage.Pipelines, "pipelines"}, {int64(d.queues), "queues"},
	} {
		if kind.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", kind.n, kind.what))
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("close soft device: not released: %s: %w", strings.Join(left, ", "), metal.ErrInvalid)
	}
	d.closed = true
	return errors.Join(d.temps.close(), d.store.close())
}

// reserve checks an allocation against the limits and the faults and counts it.
func (d *Device) reserve(length, pages uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("device: %w", metal.ErrReleased)
	}
	d.allocated++
	if d.faults.ShrinkAfter > 0 && d.allocated > d.faults.ShrinkAfter {
		d.budget = min(d.budget, d.faults.ShrinkTo)
	}
	refused := &metal.OutOfMemoryError{
		RequestedBytes: length, AllocatedBytes: uint64(d.usage.AllocatedBytes), LimitBytes: d.budget,
		Buffers: int(d.usage.Buffers),
	}
	switch {
	case d.allocated == d.faults.FailAllocation:
		refused.Reason = fmt.Sprintf("planted fault: allocation %d fails", d.allocated)
		return refused
	case d.usage.Buffers >= int64(d.info.MaxBuffers):
		refused.Reason, refused.LimitBytes, refused.MaxBuffers = "too many buffers", 0, d.info.MaxBuffers
		return refused
	case pages > d.budget || uint64(d.usage.AllocatedBytes) > d.budget-pages:
		refused.Reason = "working set is full"
		return refused
	}
	d.usage.AllocatedBytes += int64(pages)
	d.usage.Buffers++
	d.usage.TotalBuffers++
	return nil
}

// unreserve takes a buffer out of the counts.
func (d *Device) unreserve(pages uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.usage.AllocatedBytes -= int64(pages)
	d.usage.Buffers--
}

// pipeline is a kernel in Go.
type pipeline struct {
	device   *Device
	kernel   kernels.Kernel
	mu       sync.Mutex
	released bool
}

func (p *pipeline) Kernel() string { return p.kernel.Name }

func (p *pipeline) Release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		return fmt.Errorf("release pipeline %s: %w", p.kernel.Name, metal.ErrReleased)
	}
	p.released = true
	p.device.mu.Lock()
	defer p.device.mu.Unlock()
	p.device.usage.Pipelines--
	return nil
}

func (p *pipeline) usable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.released
}

// errOpenEncoder is for a command buffer whose encoder was not ended.
var errOpenEncoder = errors.New("an encoder is open")
