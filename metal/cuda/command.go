package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gpumem/gpumem/metal"
)

// commandBuffer is a list of dispatches.
type commandBuffer struct {
	queue *queue
	done  chan struct{} // closed on completion

	mu         sync.Mutex
	status     metal.Status
	err        error
	open       bool // an encoder is
	released   bool
	dispatches []dispatch
	retained   []*buffer
	uses       map[*buffer]bool // members of retained
	inline     []uintptr        // memory of inline bytes that kernels read
}

// errOpenEncoder is for a command buffer whose encoder was not ended.
var errOpenEncoder = errors.New("an encoder is open")

// NewEncoder opens an encoder.
func (c *commandBuffer) NewEncoder() (metal.Encoder, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.editable(); err != nil {
		return nil, fmt.Errorf("new encoder: %w", err)
	}
	c.open = true
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

// Wait blocks until completion.
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
	err := c.settle((*buffer).drop)
	c.queue.drop()
	return err
}

// launch hands the dispatches to the stream in order; the first that cannot be
// ends it. It says how many were. It runs on the device's thread.
func (c *commandBuffer) launch() (ran int, err error) {
	c.mu.Lock()
	c.status = metal.Scheduled
	c.mu.Unlock()
	for i := range c.dispatches {
		if err := c.dispatches[i].launch(c); err != nil {
			return i, fmt.Errorf("dispatch %d: %w", i, c.queue.device.note(err))
		}
	}
	return len(c.dispatches), nil
}

// complete lets the resources go and sets the outcome, on the device's thread.
// Whoever has waited finds the usage without this command buffer.
func (c *commandBuffer) complete(ran int, err error) {
	failed := []error{err}
	for _, address := range c.inline {
		failed = append(failed, c.queue.device.memory.put(address))
	}
	failed = append(failed, c.settle((*buffer).settle))
	err = errors.Join(failed...)
	c.queue.leave(ran)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dispatches, c.inline = nil, nil
	c.status, c.err = metal.Completed, err
	if err != nil {
		c.status = metal.Failed
	}
	close(c.done)
}

// settle gives the retained buffers back.
func (c *commandBuffer) settle(release func(*buffer) error) error {
	var failed []error
	for _, b := range c.retained {
		failed = append(failed, release(b))
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
