package pool

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gpumem/gpumem/metal"
)

// kernels are the compiled ones of a pool. They are safe for concurrent use;
// compiling takes long, and nothing else waits for it.
type kernels struct {
	mu     sync.Mutex
	byName map[string]metal.Pipeline
}

// get returns the compiled kernel, which stays until release.
func (k *kernels) get(dev metal.Device, name string, closed *atomic.Bool) (metal.Pipeline, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if made := k.byName[name]; made != nil {
		return made, nil
	}
	if closed.Load() {
		return nil, ErrClosed
	}
	made, err := dev.NewPipeline(name)
	if err != nil {
		return nil, fmt.Errorf("new pipeline %q: %w", name, err)
	}
	if k.byName == nil {
		k.byName = make(map[string]metal.Pipeline)
	}
	k.byName[name] = made
	return made, nil
}

// release gives all back and returns what the device refused.
func (k *kernels) release() (errs []error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, made := range k.byName {
		if err := made.Release(); err != nil {
			errs = append(errs, fmt.Errorf("close pool: release pipeline %s: %w", name, err))
		}
	}
	clear(k.byName)
	return errs
}
