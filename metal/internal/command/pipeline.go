package command

import (
	"fmt"
	"sync"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// Pipeline is a kernel of a device; a driver's pipelines embed it.
type Pipeline struct {
	ledger *Ledger
	kernel kernels.Kernel
	free   func() error // nil where nothing is to be given back

	mu   sync.Mutex
	refs References
}

// ownPipeline is what embeds a Pipeline.
type ownPipeline interface {
	metal.Pipeline
	base() *Pipeline
}

func (p *Pipeline) base() *Pipeline { return p }

// Admit makes p the device's pipeline for the kernel of that name and counts
// it. Errors match metal.ErrInvalid for an unknown kernel.
func (p *Pipeline) Admit(l *Ledger, kernel string) error {
	k, ok := kernels.ByName(kernel)
	if !ok {
		return fmt.Errorf("new pipeline: no kernel %q: %w", kernel, metal.ErrInvalid)
	}
	if err := l.admit(func() { l.usage.Pipelines++ }); err != nil {
		return fmt.Errorf("new pipeline %q: %w", kernel, err)
	}
	p.ledger, p.kernel = l, k
	return nil
}

// Refused takes an admitted pipeline out of the counts that could not be made.
func (p *Pipeline) Refused() { p.ledger.count(func(u *metal.Usage) { u.Pipelines-- }) }

// OnFree names what gives the driver's object back: it is called once, when
// the owner and the last command buffer that uses the pipeline have let go.
func (p *Pipeline) OnFree(free func() error) { p.free = free }

// Kernel is the kernel's name.
func (p *Pipeline) Kernel() string { return p.kernel.Name }

// Release gives the pipeline up; work that was recorded with it still runs.
func (p *Pipeline) Release() error {
	p.mu.Lock()
	err := p.refs.Release()
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("release pipeline %s: %w", p.kernel.Name, err)
	}
	err = p.Drop()
	p.Refused()
	return err
}

// Retain adds a command buffer's reference.
func (p *Pipeline) Retain() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refs.Retain(); err != nil {
		return fmt.Errorf("pipeline %s: %w", p.kernel.Name, err)
	}
	return nil
}

// Drop takes a reference back.
func (p *Pipeline) Drop() error {
	p.mu.Lock()
	last := p.refs.Drop()
	p.mu.Unlock()
	if last && p.free != nil {
		return p.free()
	}
	return nil
}

// Settle is Drop.
func (p *Pipeline) Settle() error { return p.Drop() }

func (p *Pipeline) usable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.refs.Released()
}
