package apple

import (
	"fmt"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

// pipeline is an MTLComputePipelineState.
type pipeline struct {
	command.Pipeline
	object id
	group  size // threads in a threadgroup
}

// groupThreads are enough for a threadgroup of kernels that share nothing.
const groupThreads = 256

// NewPipeline makes the pipeline of that kernel. Errors match metal.ErrInvalid
// for an unknown kernel, ErrCompile when the system refuses.
func (d *Device) NewPipeline(kernel string) (metal.Pipeline, error) {
	p := &pipeline{}
	if err := p.Admit(d.ledger, kernel); err != nil {
		return nil, err
	}
	var err error
	d.objc.do(func() { err = p.make(d, kernel) })
	if err != nil {
		p.Refused()
		return nil, fmt.Errorf("new pipeline %q: %w", kernel, err)
	}
	p.OnFree(func() error {
		d.objc.do(func() { d.objc.release(p.object) })
		return nil
	})
	return p, nil
}

// make asks the system, in a transaction.
func (p *pipeline) make(d *Device, kernel string) error {
	o := d.objc
	name := o.string(kernel)
	defer o.release(name)
	function := id(o.send(d.library, selFunction, uintptr(name)))
	if function == 0 {
		return &Error{Op: "find the kernel " + kernel, Text: "the compiled library has none of that name",
			is: ErrCompile}
	}
	defer o.release(function)
	why := new(id)
	p.object = id(o.send(d.device, selNewPipeline, uintptr(function), uintptr(unsafe.Pointer(why))))
	if p.object == 0 {
		return d.refused("compile the kernel "+kernel, *why, ErrCompile)
	}
	if err := d.require("pipeline", p.object, ofPipeline); err != nil {
		o.release(p.object)
		return err
	}
	p.group = d.threads(uint64(o.send(p.object, selMaxThreads)), uint64(o.send(p.object, selWidth)))
	return nil
}

// threads is the threadgroup for a grid of two dimensions: as wide as threads
// run together, as high as the limits allow.
func (d *Device) threads(most, together uint64) size {
	most = max(min(most, groupThreads), 1)
	w := max(min(together, most, d.group.Width), 1)
	return size{Width: w, Height: max(min(most/w, d.group.Height), 1), Depth: 1}
}
