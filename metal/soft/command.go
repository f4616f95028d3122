package soft

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// commandBuffer is a list of launches.
type commandBuffer struct {
	queue *queue
	done  chan struct{} // closed on completion

	mu       sync.Mutex
	status   metal.Status
	err      error
	open     bool // an encoder is
	released bool
	launches []launch
	retained []*buffer
	uses     map[*buffer]bool // members of retained
}

// launch is one dispatch with its bindings.
type launch struct {
	kernel kernels.Kernel
	grid   metal.Size
	args   []binding
}

// binding is a buffer from an offset on, or inline bytes.
type binding struct {
	buffer *buffer
	offset uint64
	bytes  []byte
}

// NewEncoder opens an encoder.
func (c *commandBuffer) NewEncoder() (metal.Encoder, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.editable(); err != nil {
		return nil, fmt.Errorf("new encoder: %w", err)
	}
	c.open = true
	c.queue.device.temps.make()
	return &encoder{cmd: c}, nil
}

// editable reports why nothing can be added. The lock is held.
func (c *commandBuffer) editable() error {
	switch {
	case c.released:
		return fmt.Errorf("command buffer: %w", metal.ErrReleased)
	case c.status != metal.NotEnqueued:
		return fmt.Errorf("command buffer was committed: %w", metal.ErrInvalid)
	case c.open:
		return fmt.Errorf("%w: %w", errOpenEncoder, metal.ErrInvalid)
	}
	return nil
}

// Commit hands the work over.
func (c *commandBuffer) Commit() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.editable(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	c.status = metal.Committed
	if err := c.queue.enter(c); err != nil {
		c.status = metal.NotEnqueued
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Wait blocks until completion; a command buffer that was never committed is
// an error at once, since nothing would ever complete it.
func (c *commandBuffer) Wait() error {
	c.mu.Lock()
	status := c.status
	c.mu.Unlock()
	if status == metal.NotEnqueued {
		return fmt.Errorf("wait: command buffer was not committed: %w", metal.ErrInvalid)
	}
	<-c.done
	return c.Err()
}

func (c *commandBuffer) Status() metal.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

func (c *commandBuffer) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Release gives the command buffer up; one that was not committed is dropped.
func (c *commandBuffer) Release() error {
	c.mu.Lock()
	if c.released {
		c.mu.Unlock()
		return fmt.Errorf("release command buffer: %w", metal.ErrReleased)
	}
	c.released = true
	dropped := c.status == metal.NotEnqueued
	c.mu.Unlock()
	if !dropped {
		return nil
	}
	err := c.settle()
	c.queue.drop()
	return err
}

// execute runs the launches in order; the first that fails ends it. It says
// how many ran.
func (c *commandBuffer) execute() (ran int, err error) {
	c.mu.Lock()
	c.status = metal.Scheduled
	c.mu.Unlock()
	for i := range c.launches {
		if err := guard(func() error { return c.launches[i].run(&c.queue.device.runner) }); err != nil {
			return i, fmt.Errorf("dispatch %d: %w", i, err)
		}
	}
	return len(c.launches), nil
}

func (l *launch) run(r *runner) error {
	args := make([][]byte, len(l.args))
	for i, b := range l.args {
		args[i] = b.bytes
		if b.buffer != nil {
			args[i] = b.buffer.memory[b.offset:b.buffer.length]
		}
	}
	return l.kernel.Run(kernels.Call{Grid: l.grid, Args: args, Parallel: r.parallel})
}

// complete lets the resources go and sets the outcome. Whoever has waited finds
// the usage without this command buffer.
func (c *commandBuffer) complete(ran int, err error) {
	err = errors.Join(err, c.settle())
	c.queue.leave(ran)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.launches = nil
	c.status, c.err = metal.Completed, err
	if err != nil {
		c.status = metal.Failed
	}
	close(c.done)
}

// settle gives the retained buffers back.
func (c *commandBuffer) settle() error {
	var failed []error
	for _, b := range c.retained {
		if err := b.settle(); err != nil {
			failed = append(failed, err)
		}
	}
	c.retained, c.uses = nil, nil
	return errors.Join(failed...)
}

// retain keeps a buffer until completion. The lock is held.
func (c *commandBuffer) retain(b *buffer) error {
	if c.uses[b] {
		return nil
	}
	if err := b.retain(); err != nil {
		return err
	}
	if c.uses == nil {
		c.uses = map[*buffer]bool{}
	}
	c.uses[b] = true
	c.retained = append(c.retained, b)
	return nil
}
