package tensor

import (
	"fmt"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/pool"
)

// Runtime makes tensors and runs commands. Its methods are called by one
// goroutine at a time; Stats, Holders, Pool and Batch from any.
type Runtime struct {
	machine machine
	device  metal.Device // whose temporaries a Scope releases; nil for none
	watcher Watcher
	refused func(*pool.OutOfMemoryError)

	audit  audit  // who shared
	scopes scopes // who releases
	live   live   // what holds memory, and why
	shapes shapes // how many there were
}

// New makes a runtime. Close it before its device.
func New(o Options) (*Runtime, error) {
	rt := &Runtime{watcher: o.Watcher, refused: o.Refused, scopes: scopes{watcher: o.Watcher}}
	if !o.NoAutorelease {
		rt.device = o.Device
	}
	if o.Device == nil {
		rt.machine = &host{}
		return rt, nil
	}
	d, err := newDevice(o)
	if err != nil {
		return nil, fmt.Errorf("new runtime: %w", err)
	}
	rt.machine = d
	return rt, nil
}

// Pool is the pool under the runtime, nil on the host.
func (rt *Runtime) Pool() *pool.Pool {
	if d, ok := rt.machine.(*device); ok {
		return d.pool
	}
	return nil
}

// Batch is the batch under the runtime, nil on the host.
func (rt *Runtime) Batch() *pool.Batch {
	if d, ok := rt.machine.(*device); ok {
		return d.batch
	}
	return nil
}

// Commit hands encoded commands to the device without waiting.
func (rt *Runtime) Commit() error { return rt.machine.commit() }

// Sync waits until everything encoded has run.
func (rt *Runtime) Sync() error { return rt.machine.sync() }

// Cleanup syncs and empties the parameter pools.
func (rt *Runtime) Cleanup() error {
	if b := rt.Batch(); b != nil {
		return b.Cleanup()
	}
	return nil
}

// Close syncs and gives the pool up; tensors that are still held make it fail.
func (rt *Runtime) Close() error { return rt.machine.close() }

// Scope runs f and releases what f made and did not keep. On a device the
// driver's temporaries of f are released with it (Autorelease).
func (rt *Runtime) Scope(f func() error) error {
	if rt.device == nil {
		return rt.scopes.run(f)
	}
	var err error
	rt.device.Autorelease(func() { err = rt.scopes.run(f) })
	return err
}
