package tensor

import (
	"errors"
	"fmt"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/pool"
)

// device runs on a metal.Device through a pool and a batch.
type device struct {
	pool  *pool.Pool
	queue metal.Queue
	batch *pool.Batch
}

func newDevice(o Options) (*device, error) {
	p, err := pool.New(o.Device, o.Policy, pool.Options{
		Sites: true, SkipPackages: []string{"github.com/gpumem/gpumem/workloads/tensor"},
		Observer: o.Observer,
	})
	if err != nil {
		return nil, err
	}
	q, err := o.Device.NewQueue(o.QueueLength)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	b, err := pool.NewBatch(p, q, o.BatchLimit, o.Faults...)
	if err != nil {
		return nil, errors.Join(err, q.Release(), p.Close())
	}
	return &device{pool: p, queue: q, batch: b}, nil
}

func (d *device) alloc(n, elementSize int, label string, data bool) (storage, error) {
	h, err := d.pool.Get(pool.Request{Elements: uint64(n), ElementSize: uint64(elementSize), Label: label,
		Data: data})
	if err != nil {
		return nil, err
	}
	return &handle{h}, nil
}

func (d *device) encode(name string, calls ...call) error {
	c := pool.Command{Name: name, Dispatches: make([]pool.Dispatch, len(calls))}
	for i, k := range calls {
		args := make([]pool.Arg, len(k.args))
		for j, a := range k.args {
			switch a := a.(type) {
			case *handle:
				args[j] = pool.Buf(a.Handle)
			case part:
				h, ok := a.store.(*handle)
				if !ok {
					return fmt.Errorf("encode %s: %w", name, errArgument(a.store))
				}
				args[j] = pool.BufAt(h.Handle, uint64(a.offset))
			case int32:
				args[j] = pool.Int(a)
			case float32:
				args[j] = pool.Float(a)
			case same:
				args[j] = pool.Same(int(a))
			default:
				return fmt.Errorf("encode %s: %w", name, errArgument(a))
			}
		}
		c.Dispatches[i] = pool.Dispatch{Kernel: k.kernel, Grid: k.grid, Args: args}
	}
	return d.batch.Encode(c)
}

func (d *device) commit() error { return d.batch.Commit() }
func (d *device) sync() error   { return d.batch.Sync() }

func (d *device) close() error {
	return errors.Join(d.batch.Close(), d.queue.Release(), d.pool.Close())
}

// handle is storage in the pool. It is used by its address, so that a tensor can have
// its own inside.
type handle struct{ pool.Handle }

func (h *handle) retain() (storage, error) {
	more, err := h.Retain()
	return &handle{more}, err
}

func (h *handle) release() (pool.Outcome, error) { return h.Release() }

func (h *handle) refs() int { return h.Refs() }

func (h *handle) read(p []byte) error {
	b := h.Buffer()
	if b == nil {
		return pool.ErrStale
	}
	_, err := b.ReadAt(p, 0)
	return err
}

func (h *handle) write(p []byte) error {
	b := h.Buffer()
	if b == nil {
		return pool.ErrStale
	}
	_, err := b.WriteAt(p, 0)
	return err
}
