package command

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// Resource is what a command buffer keeps until it has completed.
type Resource interface {
	// Retain adds a reference; after the owner's release it is an error
	// matching metal.ErrReleased.
	Retain() error
	// Drop takes a reference back, on any goroutine.
	Drop() error
	// Settle does the same where the driver completes work.
	Settle() error
}

// Buffer is a driver's buffer.
type Buffer interface {
	metal.Buffer
	Resource
	// Ledger is that of the buffer's device.
	Ledger() *Ledger
}

// Dispatch is one recorded launch with its bindings.
type Dispatch struct {
	Pipeline metal.Pipeline // of the driver
	Kernel   *kernels.Kernel
	Grid     metal.Size
	Args     []Binding // one for each of the kernel's
	Pass     int       // which encoder of the command buffer recorded it
}

// Binding is a buffer from an offset on, or inline bytes.
type Binding struct {
	Buffer Buffer
	Offset uint64
	Bytes  []byte
}

// Length is how many bytes the kernel may reach.
func (b *Binding) Length() uint64 {
	if b.Buffer != nil {
		return b.Buffer.Length() - b.Offset
	}
	return uint64(len(b.Bytes))
}

// Plane reports that a kernel's threads have two dimensions. The others know
// nothing of rows: with more than one, each would do the work again.
func Plane(k *kernels.Kernel) bool { return strings.HasPrefix(k.Grid, "(") }

// Parameters are the bytes of the parameters, at their indexes: inline ones as
// they are, those in buffers as read has them. The error of read ends it.
func (d *Dispatch) Parameters(read func(*Binding) ([]byte, error)) (kernels.Call, error) {
	call := kernels.Call{Grid: d.Grid, Args: make([][]byte, len(d.Args))}
	for i, a := range d.Kernel.Args {
		b := &d.Args[i]
		if a.Kind.IsBuffer() {
			continue
		}
		if call.Args[i] = b.Bytes; b.Buffer == nil {
			continue
		}
		var err error
		if call.Args[i], err = read(b); err != nil {
			return call, fmt.Errorf("kernel %s: argument %d (%s): %w", d.Kernel.Name, i, a.Name, err)
		}
	}
	return call, nil
}

// Check compares what the kernel reaches with what is bound, for devices that
// would not. Errors match metal.ErrInvalid.
func (d *Dispatch) Check(call kernels.Call) error {
	k := d.Kernel
	need, err := k.Needs(call)
	if err != nil {
		return err
	}
	for i, n := range need {
		a, b := k.Args[i], &d.Args[i]
		if have := b.Length(); n > have {
			return &kernels.ShortError{Kernel: k.Name, Index: i, Arg: a.Name, NeedBytes: n, HaveBytes: have}
		}
		if n > 0 && b.Offset%uint64(a.Elem.Size()) != 0 {
			return fmt.Errorf("kernel %s: argument %d (%s) is not aligned to %d bytes: %w", k.Name,
				i, a.Name, a.Elem.Size(), metal.ErrInvalid)
		}
	}
	return nil
}
