package soft

import (
	"fmt"
	"sync"
	"time"

	"github.com/gpumem/gpumem/metal"
)

// queue runs command buffers in commit order on a goroutine of its own.
type queue struct {
	device *Device
	limit  int

	mu          sync.Mutex
	changed     sync.Cond // any field below
	outstanding int       // made, not completed and not dropped
	committed   int       // of them
	waiting     []*commandBuffer
	released    bool

	done chan struct{} // closed when the goroutine has ended
}

// NewQueue makes a queue and starts its goroutine, which ends with Release.
func (d *Device) NewQueue(maxCommandBuffers int) (metal.Queue, error) {
	if maxCommandBuffers < 0 {
		return nil, fmt.Errorf("new queue: %d command buffers: %w", maxCommandBuffers, metal.ErrInvalid)
	}
	if maxCommandBuffers == 0 {
		maxCommandBuffers = defaultQueueLength
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("new queue: device: %w", metal.ErrReleased)
	}
	d.queues++
	q := &queue{device: d, limit: maxCommandBuffers, done: make(chan struct{})}
	q.changed.L = &q.mu
	go q.run()
	return q, nil
}

// run executes committed command buffers until the queue is released.
func (q *queue) run() {
	defer close(q.done)
	for c := q.next(); c != nil; c = q.next() {
		ran, err := c.execute()
		if lag := q.device.faults.CompletionLag; lag > 0 {
			time.Sleep(lag)
		}
		c.complete(ran, err)
	}
}

// next waits for the command buffer to execute; nil ends the goroutine.
func (q *queue) next() *commandBuffer {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.released {
		q.changed.Wait()
	}
	if len(q.waiting) == 0 {
		return nil
	}
	c := q.waiting[0]
	q.waiting[0] = nil // the array outlives it
	q.waiting = q.waiting[1:]
	return c
}

// NewCommandBuffer makes a command buffer, waiting for room.
func (q *queue) NewCommandBuffer() (metal.CommandBuffer, error) {
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
	q.outstanding++
	q.device.temps.make()
	q.device.count(func(u *metal.Usage) { u.CommandBuffers++; u.TotalCommandBuffers++ })
	return &commandBuffer{queue: q, done: make(chan struct{})}, nil
}

// enter hands a command buffer to the goroutine.
func (q *queue) enter(c *commandBuffer) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.released {
		return fmt.Errorf("queue: %w", metal.ErrReleased)
	}
	q.committed++
	q.device.count(func(u *metal.Usage) { u.InFlight++ })
	q.waiting = append(q.waiting, c)
	q.changed.Broadcast()
	return nil
}

// drop counts a command buffer out that was never committed.
func (q *queue) drop() {
	q.device.count(func(u *metal.Usage) { u.CommandBuffers-- })
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outstanding--
	q.changed.Broadcast()
}

// leave counts a completed command buffer out, with the dispatches that ran.
func (q *queue) leave(ran int) {
	q.device.count(func(u *metal.Usage) {
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

// Release waits for the committed work and ends the goroutine.
func (q *queue) Release() error {
	q.mu.Lock()
	if q.released {
		q.mu.Unlock()
		return fmt.Errorf("release queue: %w", metal.ErrReleased)
	}
	q.released = true
	q.changed.Broadcast()
	q.mu.Unlock()
	<-q.done
	q.device.mu.Lock()
	defer q.device.mu.Unlock()
	q.device.queues--
	return nil
}

// count changes the usage under its lock.
func (d *Device) count(f func(*metal.Usage)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.usage)
}
