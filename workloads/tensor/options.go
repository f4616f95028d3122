package tensor

import (
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
