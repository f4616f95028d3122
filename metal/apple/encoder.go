package apple

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

// encoder encodes dispatches into a command buffer. It lives in one
// transaction.
type encoder struct {
	device  *Device
	queue   id
	command id // 0: it could not be made anew
	object  id // 0: none is open
	pass    int
	settled int // dispatches that have completed
}

// encodeAll encodes dispatches in order, each pass in an encoder of its own;
// the first that does not fit ends it. It says how many were encoded.
func (e *encoder) encodeAll(all []command.Dispatch) (n int, err error) {
	defer e.end()
	for i := range all {
		err := e.settle(all, i)
		if err == nil {
			err = e.encode(&all[i])
		}
		if err != nil {
			return i, fmt.Errorf("dispatch %d: %w", i, err)
		}
		written(&all[i], func(m *memory) { m.writers.Add(1) })
	}
	return len(all), nil
}

// written calls f for each buffer that a dispatch writes.
func written(d *command.Dispatch, f func(*memory)) {
	for i, a := range d.Kernel.Args {
		if a.Kind.Writes() {
			f(bufferOf(&d.Args[i]))
		}
	}
}

// settle lets the dispatches before i complete when a parameter of it lies in a
// buffer that work in flight writes, since the kernel's arguments are checked
// before the launch. What follows goes into a command buffer of its own.
func (e *encoder) settle(all []command.Dispatch, i int) error {
	d := &all[i]
	pending := false
	for i, a := range d.Kernel.Args {
		if b := &d.Args[i]; !a.Kind.IsBuffer() && b.Buffer != nil && bufferOf(b).writers.Load() > 0 {
			pending = true
		}
	}
	if !pending {
		return nil
	}
	e.end()
	o := e.device.objc
	o.send(e.command, selCommit)
	err := e.device.finish(e.command)
	for ; e.settled < i; e.settled++ {
		written(&all[e.settled], func(m *memory) { m.writers.Add(-1) })
	}
	e.command = o.own(id(o.send(e.queue, selCommand)))
	if err == nil && e.command == 0 {
		err = &Error{Op: "make a command buffer", Text: "Metal made none", is: metal.ErrOutOfMemory}
	}
	return err
}

// begin opens Metal's encoder of a pass, unless it is open.
func (e *encoder) begin(pass int) error {
	if e.object != 0 && e.pass == pass {
		return nil
	}
	e.end()
	e.object, e.pass = id(e.device.objc.send(e.command, selEncoder)), pass
	if e.object == 0 {
		return &Error{Op: "make an encoder", Text: "Metal made none", is: metal.ErrOutOfMemory}
	}
	return nil
}

// end closes the open encoder; one that goes without would end the process.
func (e *encoder) end() {
	if e.object != 0 {
		e.device.objc.send(e.object, selEndEncoding)
	}
	e.object = 0
}

// encode checks a dispatch and encodes it.
func (e *encoder) encode(d *command.Dispatch) error {
	call, err := d.Parameters(parameter)
	if err != nil {
		return err
	}
	if err := d.Check(call); err != nil {
		return err
	}
	grid, err := gridOf(d)
	if err != nil {
		return err
	}
	if err := e.begin(d.Pass); err != nil {
		return err
	}
	o := e.device.objc
	p := d.Pipeline.(*pipeline)
	o.send(e.object, selSetPipeline, uintptr(p.object))
	for i := range d.Args {
		e.bind(i, &d.Args[i], call.Args[i])
	}
	group := p.group
	if grid.Height == 1 {
		group = size{Width: min(group.Width*group.Height, e.device.group.Width), Height: 1, Depth: 1}
	}
	o.dispatch(e.object, o.selectors[selDispatch], grid, group)
	return nil
}

// parameter is the bytes of a parameter in a buffer.
func parameter(b *command.Binding) ([]byte, error) {
	bytes := bufferOf(b).bytes[b.Offset:]
	return append([]byte(nil), bytes[:min(len(bytes), 4)]...), nil
}

// bufferOf is the driver's part of a bound buffer.
func bufferOf(b *command.Binding) *memory { return b.Buffer.(*command.HostBuffer).Memory().(*memory) }

// gridOf is the grid in threads.
func gridOf(d *command.Dispatch) (size, error) {
	width, height := max(d.Grid.X, 1), 1
	if command.Plane(d.Kernel) {
		height = max(d.Grid.Y, 1)
	}
	if width > math.MaxUint32 || height > math.MaxUint32 {
		return size{}, fmt.Errorf("kernel %s: grid %dx%d, allowed up to %d each way: %w",
			d.Kernel.Name, width, height, uint32(math.MaxUint32), metal.ErrInvalid)
	}
	return size{Width: uint64(width), Height: uint64(height), Depth: 1}, nil
}

// bind passes an argument. Parameters go as the bytes that were checked, also
// those of buffers: any offset is right, and nothing changes them any more.
func (e *encoder) bind(index int, b *command.Binding, parameter []byte) {
	o := e.device.objc
	bytes := b.Bytes
	switch {
	case parameter != nil:
		bytes = parameter
	case b.Buffer != nil:
		o.send(e.object, selSetBuffer, uintptr(bufferOf(b).object), uintptr(b.Offset), uintptr(index))
		return
	}
	o.send(e.object, selSetBytes, uintptr(unsafe.Pointer(unsafe.SliceData(bytes))), uintptr(len(bytes)),
		uintptr(index))
}
