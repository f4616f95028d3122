package cuda

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// pipeline is an entry of the module.
type pipeline struct {
	device   *Device
	kernel   kernels.Kernel
	entry    uintptr
	mu       sync.Mutex
	released bool
}

// NewPipeline finds the kernel of that name; Open has compiled them all.
func (d *Device) NewPipeline(kernel string) (metal.Pipeline, error) {
	k, ok := kernels.ByName(kernel)
	if !ok {
		return nil, fmt.Errorf("new pipeline: no kernel %q: %w", kernel, metal.ErrInvalid)
	}
	d.mu.Lock()
	err := d.usable()
	if err == nil {
		d.usage.Pipelines++
	}
	d.mu.Unlock()
	p := &pipeline{device: d, kernel: k}
	if err == nil {
		d.thread.do(func() { p.entry, err = d.entry(k.Name) })
		if err != nil {
			d.count(func(u *metal.Usage) { u.Pipelines-- })
		}
	}
	if err != nil {
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
	code := d.lib.call(symModuleFunction, uintptr(unsafe.Pointer(out)), d.module, uintptr(unsafe.Pointer(&name[0])))
	return *out, d.lib.failure("find the kernel "+kernel, code)
}

func (p *pipeline) Kernel() string { return p.kernel.Name }

// Release gives the pipeline up; work that was recorded with it still runs,
// since the code stays loaded with its module.
func (p *pipeline) Release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.released {
		return fmt.Errorf("release pipeline %s: %w", p.kernel.Name, metal.ErrReleased)
	}
	p.released = true
	p.device.count(func(u *metal.Usage) { u.Pipelines-- })
	return nil
}

func (p *pipeline) usable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.released
}
