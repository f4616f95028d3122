package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// dispatch is one launch with its bindings.
type dispatch struct {
	pipeline *pipeline
	grid     metal.Size
	args     []binding
}

// binding is a buffer from an offset on, or inline bytes.
type binding struct {
	buffer *buffer
	offset uint64
	bytes  []byte
}

// length is how many bytes the kernel may reach.
func (b *binding) length() uint64 {
	if b.buffer != nil {
		return b.buffer.length - b.offset
	}
	return uint64(len(b.bytes))
}

// maxArguments of a launch: a kernel's and the two of the grid.
const maxLaunchArguments = 16

// arguments are the words of a launch. They lie on the heap, where they stay in
// place while the driver copies them.
type arguments struct {
	values   [maxLaunchArguments]uint64
	pointers [maxLaunchArguments]unsafe.Pointer
}

// The limits of a launch that every NVIDIA device has (CUDA programming guide,
// compute capabilities). The kernels step over a grid that has more.
const (
	maxBlocksX = 1<<31 - 1
	maxBlocksY = 65535
	blockRows  = 8
)

// launch checks the arguments and hands the kernel to the stream. It runs on
// the device's thread.
func (l *dispatch) launch(c *commandBuffer) error {
	k := &l.pipeline.kernel
	call, err := l.call(c)
	if err != nil {
		return err
	}
	if err := l.check(call); err != nil {
		return err
	}
	width, height := max(l.grid.X, 1), 1
	if plane(k) {
		height = max(l.grid.Y, 1)
	}
	if width > math.MaxUint32 || height > math.MaxUint32 {
		return fmt.Errorf("kernel %s: grid %dx%d, allowed up to %d each way: %w", k.Name, width, height, uint32(math.MaxUint32), metal.ErrInvalid)
	}
	d := c.queue.device
	a := d.scratch
	for i, arg := range k.Args {
		if b := l.args[i].buffer; b != nil && arg.Kind.Writes() {
			b.shadow = nil // whatever it will hold, the host does not know it
		}
		if a.values[i], err = l.word(c, call, i); err != nil {
			return fmt.Errorf("kernel %s: argument %d (%s): %w", k.Name, i, k.Args[i].Name, err)
		}
	}
	n := len(k.Args)
	a.values[n], a.values[n+1] = uint64(width), uint64(height)
	for i := range a.pointers {
		a.pointers[i] = unsafe.Pointer(&a.values[i])
	}
	columns, rows := kernels.MaxBlock, 1
	if height > 1 {
		columns, rows = kernels.MaxBlock/blockRows, blockRows
	}
	code := d.lib.call(symLaunch, l.pipeline.entry,
		uintptr(min((width+columns-1)/columns, maxBlocksX)), uintptr(min((height+rows-1)/rows, maxBlocksY)), 1,
		uintptr(columns), uintptr(rows), 1, 0, c.queue.stream, uintptr(unsafe.Pointer(&a.pointers[0])), 0)
	return d.lib.failure("launch the kernel "+k.Name, code)
}

// plane reports that a kernel's threads have two dimensions. The others know
// nothing of rows: with more than one, each would do the work again.
func plane(k *kernels.Kernel) bool { return strings.HasPrefix(k.Grid, "(") }

// call holds the parameters' bytes. What the host wrote to a small buffer, and
// no kernel since, is known; other parameters in buffers are read from the
// device, when the work before has written them.
func (l *dispatch) call(c *commandBuffer) (kernels.Call, error) {
	k, d := &l.pipeline.kernel, c.queue.device
	call := kernels.Call{Grid: l.grid, Args: make([][]byte, len(k.Args))}
	for i, a := range k.Args {
		b := &l.args[i]
		switch {
		case a.Kind.IsBuffer():
		case b.buffer == nil:
			call.Args[i] = b.bytes
		case b.buffer.shadow != nil:
			call.Args[i] = b.buffer.shadow[b.offset:]
		default:
			call.Args[i] = make([]byte, min(b.length(), 4))
			address, err := b.buffer.memory()
			if err != nil {
				return call, err
			}
			if err := d.lib.failure("wait for a parameter", d.lib.call(symStreamSync, c.queue.stream)); err != nil {
				return call, err
			}
			if err := d.memory.read(call.Args[i], address+uintptr(b.offset)); err != nil {
				return call, fmt.Errorf("kernel %s: argument %d (%s): %w", k.Name, i, a.Name, err)
			}
		}
	}
	return call, nil
}

// check compares what the kernel reaches with what is bound, so that no kernel
// spoils the context.
func (l *dispatch) check(call kernels.Call) error {
	k := &l.pipeline.kernel
	need, err := k.Needs(call)
	if err != nil {
		return err
	}
	for i, n := range need {
		a, b := k.Args[i], &l.args[i]
		if have := b.length(); n > have {
			return &kernels.ShortError{Kernel: k.Name, Index: i, Arg: a.Name, NeedBytes: n, HaveBytes: have}
		}
		if n > 0 && b.offset%uint64(a.Elem.Size()) != 0 {
			return fmt.Errorf("kernel %s: argument %d (%s) is not aligned to %d bytes: %w", k.Name, i, a.Name, a.Elem.Size(), metal.ErrInvalid)
		}
	}
	return nil
}

// word is an argument as the entry takes it. Inline bytes that a kernel reads
// as memory get some, until the work has completed.
func (l *dispatch) word(c *commandBuffer, call kernels.Call, i int) (uint64, error) {
	b := &l.args[i]
	switch {
	case !l.pipeline.kernel.Args[i].Kind.IsBuffer():
		return uint64(binary.LittleEndian.Uint32(call.Args[i])), nil
	case b.buffer != nil:
		address, err := b.buffer.memory()
		return uint64(address) + b.offset, err
	}
	m := &c.queue.device.memory
	address, err := m.get(uint64(len(b.bytes)))
	if err != nil {
		return 0, err
	}
	c.inline = append(c.inline, address)
	return uint64(address), m.write(address, b.bytes)
}
