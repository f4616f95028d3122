package tensor

import (
	"fmt"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/pool"
)

// machine is where tensors live and commands run.
type machine interface {
	// alloc makes storage of n elements; its contents are undefined, and data says
	// that they are written next.
	alloc(n, elementSize int, label string, data bool) (storage, error)
	// encode adds one counted command.
	encode(name string, calls ...call) error
	commit() error
	// sync waits until everything encoded has run.
	sync() error
	close() error
}

// storage is a counted reference to memory.
type storage interface {
	// retain adds a reference and returns it.
	retain() (storage, error)
	// release gives this reference up and says what became of it.
	release() (pool.Outcome, error)
	refs() int
	// read and write copy through the host; the caller has synced.
	read(p []byte) error
	write(p []byte) error
}

// call is one dispatch of a kernel: storages and parameters in the order of
// the kernel's arguments.
type call struct {
	kernel string
	grid   metal.Size
	args   []any // storage, part, int32, float32 or same
}

// same is a parameter of the first call of a command, counted from 0, that another call
// takes as well.
type same int

// over is a grid of n threads.
func over(n int) metal.Size { return metal.Size{X: n} }

// errArgument is a programmer's error of this package, kept from panicking.
func errArgument(a any) error { return fmt.Errorf("argument of type %T", a) }
