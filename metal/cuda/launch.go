package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
	"github.com/gpumem/gpumem/metal/kernels"
)

// launch is a dispatch on its way to a stream. It is the device's thread's.
type launch struct {
	*command.Dispatch
	device *Device
	stream uintptr
	inline []uintptr // memory that it took for inline bytes
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

// start checks the arguments and hands the kernel to the stream.
func (l *launch) start() error {
	k := l.Kernel
	call, err := l.Parameters(l.parameter)
	if err != nil {
		return err
	}
	if err := l.Check(call); err != nil {
		return err
	}
	width, height := max(l.Grid.X, 1), 1
	if command.Plane(k) {
		height = max(l.Grid.Y, 1)
	}
	if width > math.MaxUint32 || height > math.MaxUint32 {
		return fmt.Errorf("kernel %s: grid %dx%d, allowed up to %d each way: %w", k.Name, width, height,
			uint32(math.MaxUint32), metal.ErrInvalid)
	}
	d := l.device
	a := d.scratch
	for i, arg := range k.Args {
		if b := l.Args[i].Buffer; b != nil && arg.Kind.Writes() {
			b.(*buffer).shadow = nil // whatever it will hold, the host does not know it
		}
		if a.values[i], err = l.word(call, i); err != nil {
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
	code := d.lib.call(symLaunch, l.Pipeline.(*pipeline).entry,
		uintptr(min((width+columns-1)/columns, maxBlocksX)),
		uintptr(min((height+rows-1)/rows, maxBlocksY)), 1,
		uintptr(columns), uintptr(rows), 1, 0, l.stream, uintptr(unsafe.Pointer(&a.pointers[0])), 0)
	return d.lib.failure("launch the kernel "+k.Name, code)
}

// parameter is the bytes of a parameter in a buffer. What the host wrote to a
// small buffer, and no kernel since, is known; others are read from the device,
// when the work before has written them.
func (l *launch) parameter(in *command.Binding) ([]byte, error) {
	b, d := in.Buffer.(*buffer), l.device
	if b.shadow != nil {
		return b.shadow[in.Offset:], nil
	}
	p := make([]byte, min(in.Length(), 4))
	address, err := b.memory()
	if err != nil {
		return nil, err
	}
	if err := d.lib.failure("wait for a parameter", d.lib.call(symStreamSync, l.stream)); err != nil {
		return nil, err
	}
	return p, d.memory.read(p, address+uintptr(in.Offset))
}

// word is an argument as the entry takes it. Inline bytes that a kernel reads
// as memory get some, until the work has completed.
func (l *launch) word(call kernels.Call, i int) (uint64, error) {
	b := &l.Args[i]
	switch {
	case !l.Kernel.Args[i].Kind.IsBuffer():
		return uint64(binary.LittleEndian.Uint32(call.Args[i])), nil
	case b.Buffer != nil:
		address, err := b.Buffer.(*buffer).memory()
		return uint64(address) + b.Offset, err
	}
	m := &l.device.memory
	address, err := m.get(uint64(len(b.Bytes)))
	if err != nil {
		return 0, err
	}
	l.inline = append(l.inline, address)
	return uint64(address), m.write(address, b.Bytes)
}
