package apple

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/metal"
)

// Options say which device to open and how. The zero value is the system's
// first device.
type Options struct {
	// Library is a file that has the Objective-C runtime and Metal; default
	// the system's.
	Library string
	// Device is the index in the system's list of devices; a Mac of Apple
	// silicon has one.
	Device int
	// WorkingSet is the budget in bytes; default what the device recommends.
	WorkingSet uint64
	// MaxBuffers may exist at once; default 499,000, the limit when
	// iogpu.rsrc_limit is unset (MLX, backend/metal/allocator).
	MaxBuffers int
	// Faults are planted defects. NoAutorelease leaves the autorelease pool out
	// of every transaction: what the system autoreleases then stays as long as
	// the OS thread, which in Go is the process's end.
	Faults metal.Faults
}

const maxBuffers = 499_000

func (o *Options) check() error {
	if o.MaxBuffers < 0 {
		return fmt.Errorf("open metal device: negative option: %w", metal.ErrInvalid)
	}
	if o.WorkingSet > math.MaxInt64 {
		return fmt.Errorf("open metal device: more than %d B: %w", uint64(math.MaxInt64), metal.ErrInvalid)
	}
	if err := o.Faults.Check(); err != nil {
		return fmt.Errorf("open metal device: %w", err)
	}
	return nil
}
