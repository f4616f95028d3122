package cuda

import (
	"fmt"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
	"github.com/gpumem/gpumem/metal/kernels"
)

// pipeline is an entry of the module. The code stays loaded with it, so that
// there is nothing to give back.
type pipeline struct {
	command.Pipeline
	entry uintptr
}

// NewPipeline finds the kernel of that name; Open has compiled them all.
func (d *Device) NewPipeline(kernel string) (metal.Pipeline, error) {
	p := &pipeline{}
	if err := p.Admit(d.ledger, kernel); err != nil {
		return nil, err
	}
	var err error
	d.thread.do(func() { p.entry, err = d.entry(kernel) })
	if err != nil {
		p.Refused()
		return nil, fmt.Errorf("new pipeline %q: %w", kernel, d.note(err))
	}
	return p, nil
}

// entry is the address of a kernel's entry. It runs on the thread.
func (d *Device) entry(kernel string) (uintptr, error) {
	out := new(uintptr)
	if d.module == 0 {
		text := append([]byte(kernels.PTX()), 0)
		code := d.lib.call(symModuleLoad, uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(&text[0])))
		if err := d.lib.failure("compile the kernels", code); err != nil {
			return 0, err
		}
		d.module = *out
	}
	name := append([]byte(kernels.EntryPrefix+kernel), 0)
	code := d.lib.call(symModuleFunction, uintptr(unsafe.Pointer(out)), d.module,
		uintptr(unsafe.Pointer(&name[0])))
	return *out, d.lib.failure("find the kernel "+kernel, code)
}
