package tensor

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/pool"
)

// Options say where a Runtime runs. A nil Device is the host.
type Options struct {
	Device     metal.Device
	Policy     pool.Policy
	BatchLimit int // commands before a flush; 0 is 100
	// QueueLength is the queue's maximum of command buffers; 0 is 64.
	QueueLength int
	// NoAutorelease plants a fault: scopes open no autorelease scope of the
	// device, so that the driver's temporaries stay.
	NoAutorelease bool
	Faults        []pool.Fault
	Observer      pool.Observer
	// Refused is told, when set, that the device has no memory for a tensor, before
	// anything is given up because of it. It is called on the goroutine that uses the Runtime.
	Refused func(*pool.OutOfMemoryError)
	// Watcher is told of scopes and tensors, when set.
	Watcher Watcher
}

// Watcher is told of what happens to tensors. It is called on the goroutine
// that uses the Runtime and must not call back.
type Watcher interface {
	// Entered and Ending are called when a scope was entered and before it
	// gives up so many tensors; Ended when it has.
	Entered(depth int)
	Ending(tensors int)
	Ended()
	// Made is a new tensor, Shared another reference to one, Released the end
	// of a reference with what really became of it and how many remain.
	Made(t *Tensor)
	Shared(t *Tensor, references int)
	// Left is a tensor that its scope does not own any more: somebody keeps it.
	Left(t *Tensor, references int)
	Released(t *Tensor, outcome pool.Outcome, references int)
}

// Runtime makes tensors and runs commands. Its methods are called by one
// goroutine at a time; Stats, Holders, Pool and Batch from any.
type Runtime struct {
	machine machine
	device  metal.Device // whose temporaries a Scope releases; nil for none
	watcher Watcher
	refused func(*pool.OutOfMemoryError)
	audit   audit

	scopes  []*scope
	depth   atomic.Int64
	nextID  uint64
	mu      sync.Mutex // guards alive, which Holders reads
	alive   map[*Tensor]struct{}
	shapes  map[[4]int]struct{}
	nShapes atomic.Int64
}

// scope lists the tensors to release at its end.
type scope struct{ owned map[*Tensor]struct{} }

// New makes a runtime. Close it before its device.
func New(o Options) (*Runtime, error) {
	rt := &Runtime{watcher: o.Watcher, refused: o.Refused,
		alive: map[*Tensor]struct{}{}, shapes: map[[4]int]struct{}{}}
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
		return rt.scoped(f)
	}
	var err error
	rt.device.Autorelease(func() { err = rt.scoped(f) })
	return err
}

func (rt *Runtime) scoped(f func() error) (err error) {
	s := &scope{owned: map[*Tensor]struct{}{}}
	rt.scopes = append(rt.scopes, s)
	rt.depth.Add(1)
	if rt.watcher != nil {
		rt.watcher.Entered(len(rt.scopes))
	}
	defer func() { err = errors.Join(err, rt.endScope(s)) }()
	return f()
}

// endScope releases what the innermost scope still owns.
func (rt *Runtime) endScope(s *scope) error {
	if rt.watcher != nil {
		rt.watcher.Ending(len(s.owned))
	}
	var failed error
	for t := range s.owned {
		t.scope = nil
		failed = errors.Join(failed, t.Release())
	}
	rt.scopes = rt.scopes[:len(rt.scopes)-1]
	rt.depth.Add(-1)
	if rt.watcher != nil {
		rt.watcher.Ended()
	}
	return failed
}

// adopt registers a new tensor with the innermost scope.
func (rt *Runtime) adopt(t *Tensor) {
	rt.nextID++
	t.id = rt.nextID
	t.holder = heldByProgram
	if n := len(rt.scopes); n > 0 {
		t.holder = heldByScope
		t.scope = rt.scopes[n-1]
		t.scope.owned[t] = struct{}{}
	}
	rt.mu.Lock()
	rt.alive[t] = struct{}{}
	rt.mu.Unlock()
}

// noteShape counts distinct shapes.
func (rt *Runtime) noteShape(shape []int) {
	var key [4]int
	copy(key[:], shape)
	if _, known := rt.shapes[key]; !known {
		rt.shapes[key] = struct{}{}
		rt.nShapes.Add(1)
	}
}
