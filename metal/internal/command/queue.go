package command

import (
	"fmt"
	"sync"

	"github.com/gpumem/gpumem/metal"
)

// defaultQueueLength is Metal's default of newCommandQueue.
const defaultQueueLength = 64

// Driver is what a driver does for the command buffers of one queue.
type Driver interface {
	// Begin makes what the driver has for a new command buffer. The queue's
	// lock is held.
	Begin(*CommandBuffer) error
	// BeginEncoder is told of a new encoder. The command buffer's lock is held.
	BeginEncoder(*CommandBuffer)
	// Submit takes a committed command buffer and sees to it that its Complete
	// is called. It comes in the order of the commits, waits for no work but
	// what it must know the results of, and calls nothing of the command buffer
	// but Dispatches: the locks of queue and command buffer are held.
	Submit(*CommandBuffer)
	// Drop gives back what Begin made for a command buffer that was never
	// committed.
	Drop(*CommandBuffer)
	// Close gives the driver's own queue back. All submitted work has
	// completed, no lock is held.
	Close() error
}

// Queue counts the command buffers that are made and not completed.
type Queue struct {
	ledger *Ledger
	driver Driver
	limit  int

	mu          sync.Mutex
	changed     sync.Cond // any field below
	outstanding int       // made, not completed and not dropped
	committed   int       // of them
	released    bool
}

// NewQueue makes a queue whose driver is what open returns.
func (l *Ledger) NewQueue(maxCommandBuffers int,
	open func(maxCommandBuffers int) (Driver, error)) (*Queue, error) {
	if maxCommandBuffers < 0 {
		return nil, fmt.Errorf("new queue: %d command buffers: %w", maxCommandBuffers, metal.ErrInvalid)
	}
	if maxCommandBuffers == 0 {
		maxCommandBuffers = defaultQueueLength
	}
	if err := l.admit(func() { l.queues++ }); err != nil {
		return nil, fmt.Errorf("new queue: %w", err)
	}
	driver, err := open(maxCommandBuffers)
	if err != nil {
		l.leaveQueue()
		return nil, fmt.Errorf("new queue: %w", err)
	}
	q := &Queue{ledger: l, driver: driver, limit: maxCommandBuffers}
	q.changed.L = &q.mu
	return q, nil
}

// Use runs f with what NewQueue's open returned, which stays until f returns.
func (q *Queue) Use(f func(Driver)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.released {
		return fmt.Errorf("queue: %w", metal.ErrReleased)
	}
	f(q.driver)
	return nil
}

func (l *Ledger) leaveQueue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queues--
}

// NewCommandBuffer makes a command buffer, waiting for room.
func (q *Queue) NewCommandBuffer() (metal.CommandBuffer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.outstanding >= q.limit && q.committed > 0 && !q.released {
		q.changed.Wait()
	}
	switch {
	case q.released:
		return nil, fmt.Errorf("new command buffer: queue: %w", metal.ErrReleased)
	case q.outstanding >= q.limit:
		return nil, fmt.Errorf("new command buffer: %d of %d: %w", q.outstanding, q.limit, metal.ErrQueueFull)
	}
	c := &CommandBuffer{queue: q, done: make(chan struct{})}
	if err := q.driver.Begin(c); err != nil {
		return nil, fmt.Errorf("new command buffer: %w", err)
	}
	q.outstanding++
	q.ledger.count(func(u *metal.Usage) { u.CommandBuffers++; u.TotalCommandBuffers++ })
	return c, nil
}

// enter hands a command buffer to the driver.
func (q *Queue) enter(c *CommandBuffer) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.released {
		return fmt.Errorf("queue: %w", metal.ErrReleased)
	}
	q.committed++
	q.ledger.count(func(u *metal.Usage) { u.InFlight++ })
	q.driver.Submit(c)
	return nil
}

// drop counts a command buffer out that was never committed.
func (q *Queue) drop() {
	q.ledger.count(func(u *metal.Usage) { u.CommandBuffers-- })
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outstanding--
	q.changed.Broadcast()
}

// leave counts a completed command buffer out, with the dispatches that ran.
func (q *Queue) leave(ran int) {
	q.ledger.count(func(u *metal.Usage) {
		u.CommandBuffers--
		u.InFlight--
		u.TotalDispatches += int64(ran)
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outstanding--
	q.committed--
	q.changed.Broadcast()
}

// Release waits for the committed work and gives the driver's queue back.
func (q *Queue) Release() error {
	q.mu.Lock()
	if q.released {
		q.mu.Unlock()
		return fmt.Errorf("release queue: %w", metal.ErrReleased)
	}
	q.released = true
	q.changed.Broadcast()
	for q.committed > 0 {
		q.changed.Wait()
	}
	q.mu.Unlock()
	err := q.driver.Close()
	q.ledger.leaveQueue()
	if err != nil {
		return fmt.Errorf("release queue: %w", err)
	}
	return nil
}
