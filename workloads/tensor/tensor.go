package tensor

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/pool"
)

// Tensor is one reference to storage, with a shape and, when it was computed
// from something that requires a gradient, its place in the graph. It belongs
// to the scope it was made in until it is kept, released or the scope ends.
type Tensor struct {
	rt       *Runtime
	id       uint64
	memory   uint64 // the id of the tensor that the memory was made for
	name     string
	shape    []int
	size     int // bytes of one element
	store    storage
	own      handle // what store is of a tensor that shares a device's memory
	node     *node
	scope    *scope
	holder   string // what keeps it, for Holders; guarded by the live set's mu
	role     Role   // what the program said that it is; guarded so too
	released bool
}

// What keeps a tensor, in the words of Holders.
const (
	heldByScope   = "scope"
	heldByProgram = "kept"
	heldByGraph   = "graph"
)

// ErrShape is a shape or an element count that does not fit.
var ErrShape = errors.New("shapes do not fit")

// New makes a tensor of float32 with undefined contents.
func (rt *Runtime) New(name string, shape ...int) (*Tensor, error) {
	return spec{name: name, size: 4, shape: shape}.make(rt)
}

// NewHalf makes a tensor of f16 with undefined contents.
func (rt *Runtime) NewHalf(name string, shape ...int) (*Tensor, error) {
	return spec{name: name, size: 2, shape: shape}.make(rt)
}

// spec is what a new tensor is to be.
type spec struct {
	name  string
	size  int // bytes of one element
	shape []int
	data  bool // values are written next
}

func (s spec) make(rt *Runtime) (*Tensor, error) {
	n := elements(s.shape)
	if n <= 0 {
		return nil, fmt.Errorf("new tensor %s %v: %w", s.name, s.shape, ErrShape)
	}
	store, err := rt.machine.alloc(n, s.size, s.name, s.data)
	if err != nil {
		var full *pool.OutOfMemoryError
		if rt.refused != nil && errors.As(err, &full) {
			rt.refused(full)
		}
		return nil, fmt.Errorf("new tensor %s %v: %w", s.name, s.shape, err)
	}
	t := &Tensor{rt: rt, name: s.name, shape: slices.Clone(s.shape), size: s.size, store: store}
	t.enter()
	t.memory = t.id
	rt.shapes.note(s.shape)
	if rt.watcher != nil {
		rt.watcher.Made(t)
	}
	return t, nil
}

// enter makes a new tensor live: the innermost scope owns it, if one is open.
func (t *Tensor) enter() {
	t.scope = t.rt.scopes.own(t)
	t.holder = heldByProgram
	if t.scope != nil {
		t.holder = heldByScope
	}
	t.rt.live.add(t)
}

// From makes a tensor with the given values.
func (rt *Runtime) From(name string, values []float32, shape ...int) (*Tensor, error) {
	t, err := spec{name, 4, shape, true}.make(rt)
	if err != nil {
		return nil, err
	}
	t.As(Inputs)
	if err := t.Set(values); err != nil {
		return nil, errors.Join(err, t.Release())
	}
	return t, nil
}

// elements is the number of elements of a shape, 0 when it has none.
func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		if d <= 0 {
			return 0
		}
		n *= d
	}
	return n
}

// Name is what the tensor was made for.
func (t *Tensor) Name() string { return t.name }

// ID is unique in its runtime.
func (t *Tensor) ID() uint64 { return t.id }

// Memory is unique for the memory in its runtime: tensors that share it have the
// same.
func (t *Tensor) Memory() uint64 { return t.memory }

// Scoped reports whether a scope owns the tensor and releases it.
func (t *Tensor) Scoped() bool { return t.scope != nil }

// Shape is the shape; the caller must not change it.
func (t *Tensor) Shape() []int { return t.shape }

// Len is the number of elements.
func (t *Tensor) Len() int { return elements(t.shape) }

// ElementSize is the bytes of one element: 4, or 2 for f16.
func (t *Tensor) ElementSize() int { return t.size }

// Refs is the number of references to the storage, of this tensor and others.
func (t *Tensor) Refs() int { return t.store.refs() }

// Share makes another reference to the same memory and graph; nothing is
// copied. The caller's line is counted by the clone audit.
func (t *Tensor) Share() (*Tensor, error) {
	var caller [1]uintptr
	if runtime.Callers(2, caller[:]) > 0 {
		t.rt.audit.count(caller[0])
	}
	return t.share()
}

func (t *Tensor) share() (*Tensor, error) {
	if t.released {
		return nil, fmt.Errorf("share tensor %s: %w", t.name, errReleased)
	}
	s := &Tensor{rt: t.rt, name: t.name, shape: t.shape, size: t.size, memory: t.memory, node: t.node}
	if err := t.retainInto(s); err != nil {
		return nil, fmt.Errorf("share tensor %s: %w", t.name, err)
	}
	if s.node != nil {
		s.node.refs++
	}
	s.enter()
	if t.rt.watcher != nil {
		t.rt.watcher.Shared(s, s.Refs())
	}
	return s, nil
}

// retainInto gives s a reference of its own to t's memory.
func (t *Tensor) retainInto(s *Tensor) (err error) {
	if h, ok := t.store.(*handle); ok { // without memory of its own: this is often done
		s.own.Handle, err = h.Retain()
		s.store = &s.own
		return err
	}
	s.store, err = t.store.retain()
	return err
}

// Keep takes the tensor out of its scope: the caller now releases it.
func (t *Tensor) Keep() *Tensor {
	if t.scope != nil && t.rt.watcher != nil {
		t.rt.watcher.Left(t, t.Refs())
	}
	t.leaveScope()
	t.rt.live.keep(t, heldByProgram)
	return t
}

// KeepIn is Keep for a tensor that a container of the program's keeps, such as
// "list server.sessions": Holders counts all that is in it together, whatever
// each was made for.
func (t *Tensor) KeepIn(container string) *Tensor {
	t.leaveScope()
	t.rt.live.keep(t, container)
	return t
}

func (t *Tensor) leaveScope() {
	if t.scope != nil {
		delete(t.scope.owned, t)
		t.scope = nil
	}
}

// Release gives the reference up, and with the last one the memory. The
// second call of one Tensor is an error.
func (t *Tensor) Release() error {
	if t.released {
		return fmt.Errorf("release tensor %s: %w", t.name, errReleased)
	}
	t.released = true
	t.leaveScope()
	t.rt.live.remove(t)
	outcome, err := t.store.release()
	if t.rt.watcher != nil && err == nil {
		t.rt.watcher.Released(t, outcome, t.store.refs())
	}
	if n := t.node; n != nil {
		t.node = nil
		err = errors.Join(err, n.unref())
	}
	return err
}

// Set writes the values. Work that uses the tensor must have been synced.
func (t *Tensor) Set(values []float32) error {
	if t.size != 4 || len(values) != t.Len() {
		return fmt.Errorf("set tensor %s %v with %d values: %w", t.name, t.shape, len(values), ErrShape)
	}
	if err := t.store.write(bytesOf(values)); err != nil {
		return fmt.Errorf("set tensor %s: %w", t.name, err)
	}
	return nil
}

// SetHalf writes the values of a tensor of f16 as IEEE 754 binary16. Work that
// uses the tensor must have been synced.
func (t *Tensor) SetHalf(values []uint16) error {
	if t.size != 2 || len(values) != t.Len() {
		return fmt.Errorf("set tensor %s %v of f16 with %d values: %w", t.name, t.shape,
			len(values), ErrShape)
	}
	if err := t.store.write(bytesOf(values)); err != nil {
		return fmt.Errorf("set tensor %s: %w", t.name, err)
	}
	return nil
}

// Values waits for the device and reads the values.
func (t *Tensor) Values() ([]float32, error) {
	if t.size != 4 {
		return nil, fmt.Errorf("values of tensor %s: elements of %d B: %w", t.name, t.size, ErrShape)
	}
	if err := t.rt.Sync(); err != nil {
		return nil, err
	}
	values := make([]float32, t.Len())
	if err := t.store.read(bytesOf(values)); err != nil {
		return nil, fmt.Errorf("values of tensor %s: %w", t.name, err)
	}
	return values, nil
}

// Contents is the tensor's memory where the host can address it, else nil. It
// is valid until the storage is released.
func (t *Tensor) Contents() []byte {
	switch s := t.store.(type) {
	case *hostBlock:
		return s.memory
	case *handle:
		if b := s.Buffer(); b != nil {
			if p := b.Contents(); p != nil {
				return p[:t.Len()*t.size]
			}
		}
	}
	return nil
}

// Buffer is the device's buffer, nil on the host. A program that encodes
// commands of its own with it waits for them before it releases the tensor: the
// runtime does not know of them.
func (t *Tensor) Buffer() metal.Buffer {
	if h, ok := t.store.(*handle); ok {
		return h.Buffer()
	}
	return nil
}
