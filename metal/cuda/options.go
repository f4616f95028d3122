package cuda

import (
	"fmt"
	"math"

	"github.com/gpumem/gpumem/metal"
)

// Options say which device to open and how. The zero value is the first device
// of the system's driver.
type Options struct {
	// Library is the file or name of the driver library; default the system's
	// libcuda.so.1 or nvcuda.dll.
	Library string
	// Device is the driver's index. CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER
	// decide what it means; with the order PCI_BUS_ID and all devices visible it
	// is nvidia-smi's.
	Device int
	// WorkingSet is the budget in bytes; default the device's memory. Other
	// processes may leave less.
	WorkingSet uint64
	// MaxBuffers may exist at once; default 2^31-1, since the driver has no
	// limit of its own.
	MaxBuffers int
	// KeepBytes may stay in the driver's memory pool for the next small buffers;
	// default none.
	KeepBytes uint64
	// PlainAllocations takes each buffer by cuMemAlloc even where the driver has
	// memory pools.
	PlainAllocations bool
	Faults           Faults
}

// Faults are planted defects. NoAutorelease plants nothing here: this driver
// makes no temporaries.
type Faults = metal.Faults

func (o *Options) check() error {
	if o.MaxBuffers < 0 {
		return fmt.Errorf("open cuda device: negative option: %w", metal.ErrInvalid)
	}
	if err := o.Faults.Check(); err != nil {
		return fmt.Errorf("open cuda device: %w", err)
	}
	if o.WorkingSet > math.MaxInt64 {
		return fmt.Errorf("open cuda device: more than %d B: %w", uint64(math.MaxInt64), metal.ErrInvalid)
	}
	return nil
}
