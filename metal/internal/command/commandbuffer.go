package command

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gpumem/gpumem/metal"
)

// CommandBuffer is a list of dispatches and what they use.
type CommandBuffer struct {
	// Handle and Flight are what the driver keeps with it: its own object,
	// made in Driver.Begin, and what it notes in Driver.Submit. Nobody else
	// touches them.
	Handle uintptr
	Flight any

	queue *Queue
	done  chan struct{} // closed on completion

	mu         sync.Mutex
	status     metal.Status
	err        error
	open       bool // an encoder is
	released   bool
	passes     int // encoders made
	dispatches []Dispatch
	retained   []Resource
	uses       map[Resource]bool // members of retained
}

// errOpenEncoder is for a command buffer whose encoder was not ended.
var errOpenEncoder = errors.New("an encoder is open")

// NewEncoder opens an encoder.
func (c *CommandBuffer) NewEncoder() (metal.Encoder, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.editable(); err != nil {
		return nil, fmt.Errorf("new encoder: %w", err)
	}
	c.open = true
	c.queue.driver.BeginEncoder(c)
	c.passes++
	return &encoder{cmd: c, pass: c.passes}, nil
}

// editable reports why nothing can be added. The lock is held.
func (c *CommandBuffer) editable() error {
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
func (c *CommandBuffer) Commit() error {
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
func (c *CommandBuffer) Wait() error {
	if c.Status() == metal.NotEnqueued {
		return fmt.Errorf("wait: command buffer was not committed: %w", metal.ErrInvalid)
	}
	<-c.done
	return c.Err()
}

// Status is where the command buffer stands.
func (c *CommandBuffer) Status() metal.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Err is the error of a failed command buffer, else nil.
func (c *CommandBuffer) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Release gives the command buffer up; one that was not committed is dropped.
func (c *CommandBuffer) Release() error {
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
	c.queue.driver.Drop(c)
	err := c.letGo(Resource.Drop)
	c.queue.drop()
	return err
}

// Dispatches are the recorded ones in order. Only the driver reads them, from
// Submit to Complete.
func (c *CommandBuffer) Dispatches() []Dispatch { return c.dispatches }

// Schedule says that the driver has begun with the work.
func (c *CommandBuffer) Schedule() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = metal.Scheduled
}

// Complete lets the resources go, with Settle, and sets the outcome: ran
// dispatches were run, err is why the others were not. The driver calls it once
// for each submitted command buffer, in the order of their submission. Whoever
// has waited finds the usage without this command buffer.
func (c *CommandBuffer) Complete(ran int, err error) {
	err = errors.Join(err, c.letGo(Resource.Settle))
	c.queue.leave(ran)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dispatches = nil
	c.status, c.err = metal.Completed, err
	if err != nil {
		c.status = metal.Failed
	}
	close(c.done)
}

// letGo gives the retained resources back.
func (c *CommandBuffer) letGo(release func(Resource) error) error {
	var failed []error
	for _, r := range c.retained {
		if err := release(r); err != nil {
			failed = append(failed, err)
		}
	}
	c.retained, c.uses = nil, nil
	return errors.Join(failed...)
}

// retain keeps a resource until completion. The lock is held.
func (c *CommandBuffer) retain(r Resource) error {
	if c.uses[r] {
		return nil
	}
	if err := r.Retain(); err != nil {
		return err
	}
	if c.uses == nil {
		c.uses = map[Resource]bool{}
	}
	c.uses[r] = true
	c.retained = append(c.retained, r)
	return nil
}
