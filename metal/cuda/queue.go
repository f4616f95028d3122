package cuda

import (
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
)

// queue is a stream. Committed command buffers are launched on the device's
// thread in commit order and complete in that order.
type queue struct {
	device *Device
	limit  int
	stream uintptr

	// Of the device's thread alone.
	flying []*flight // launched, not completed, oldest first
	last   time.Time // of the last completion

	mu          sync.Mutex
	changed     sync.Cond // any field below
	outstanding int       // made, not completed and not dropped
	committed   int       // of them
	released    bool
}

// flight is a launched command buffer.
type flight struct {
	command *commandBuffer
	event   uintptr // 0: there is none, the whole stream is waited for
	ran     int
	err     error     // of the launch
	done    bool      // its work is, but not the planted lag
	from    time.Time // of the lag
}

// NewQueue makes a queue.
func (d *Device) NewQueue(maxCommandBuffers int) (metal.Queue, error) {
	if maxCommandBuffers < 0 {
		return nil, fmt.Errorf("new queue: %d command buffers: %w", maxCommandBuffers, metal.ErrInvalid)
	}
	if maxCommandBuffers == 0 {
		maxCommandBuffers = defaultQueueLength
	}
	d.mu.Lock()
	err := d.usable()
	if err == nil {
		d.queues++
	}
	d.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("new queue: %w", err)
	}
	q := &queue{device: d, limit: maxCommandBuffers}
	q.changed.L = &q.mu
	d.thread.do(func() { q.stream, err = d.stream() })
	if err != nil {
		d.leaveQueue()
		return nil, fmt.Errorf("new queue: %w", d.note(err))
	}
	return q, nil
}

// stream is one that was used before, or a new one. It runs on the thread.
func (d *Device) stream() (uintptr, error) {
	if n := len(d.streams); n > 0 {
		s := d.streams[n-1]
		d.streams = d.streams[:n-1]
		return s, nil
	}
	s := new(uintptr)
	err := d.lib.failure("make a stream", d.lib.call(symStreamCreate, uintptr(unsafe.Pointer(s)), streamNonBlocking))
	return *s, err
}

func (d *Device) leaveQueue() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues--
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
	q.device.count(func(u *metal.Usage) { u.CommandBuffers++; u.TotalCommandBuffers++ })
	return &commandBuffer{queue: q, done: make(chan struct{})}, nil
}

// enter hands a command buffer to the device's thread.
func (q *queue) enter(c *commandBuffer) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.released {
		return fmt.Errorf("queue: %w", metal.ErrReleased)
	}
	q.committed++
	q.device.count(func(u *metal.Usage) { u.InFlight++ })
	q.device.thread.post(func() { q.start(c) }) // open, as the queue is
	return nil
}

// start launches a command buffer's work. It is a task of the thread.
func (q *queue) start(c *commandBuffer) {
	d := q.device
	f := &flight{command: c}
	f.ran, f.err = c.launch()
	if code := d.record(f, q.stream); code != codeSuccess && f.err == nil {
		f.err = d.lib.failure("record the end of the work", code)
	}
	if len(q.flying) == 0 {
		d.active = append(d.active, q)
	}
	q.flying = append(q.flying, f)
}

// record puts an event behind the work of a flight.
func (d *Device) record(f *flight, stream uintptr) Code {
	event := new(uintptr)
	if n := len(d.events); n > 0 {
		*event, d.events = d.events[n-1], d.events[:n-1]
	} else if code := d.lib.call(symEventCreate, uintptr(unsafe.Pointer(event)), eventDisableTiming); code != codeSuccess {
		return code
	}
	code := d.lib.call(symEventRecord, *event, stream)
	if code != codeSuccess {
		d.events = append(d.events, *event)
		return code
	}
	f.event = *event
	return codeSuccess
}

// poll completes what has come to its end.
func (d *Device) poll() (progress, pending bool) {
	for _, q := range d.active {
		for len(q.flying) > 0 && q.landed(q.flying[0]) {
			f := q.flying[0]
			q.flying[0] = nil // the array outlives it
			q.flying = q.flying[1:]
			if f.event != 0 {
				d.events = append(d.events, f.event)
			}
			progress = true
			f.command.complete(f.ran, f.err)
		}
	}
	d.active = slices.DeleteFunc(d.active, func(q *queue) bool { return len(q.flying) == 0 })
	return progress, len(d.active) > 0
}

// landed reports that a flight is over, its planted lag included.
func (q *queue) landed(f *flight) bool {
	d := q.device
	if !f.done {
		code := codeSuccess
		if f.event == 0 {
			code = d.lib.call(symStreamSync, q.stream)
		} else {
			code = d.lib.call(symEventQuery, f.event)
		}
		if code == codeNotReady {
			return false
		}
		if err := d.lib.failure("run the kernels", code); err != nil && f.err == nil {
			f.err = d.note(err)
		}
		f.done, f.from = true, time.Now()
		if f.from.Before(q.last) {
			f.from = q.last
		}
	}
	lag := d.options.Faults.CompletionLag
	if lag > 0 && time.Since(f.from) < lag {
		return false
	}
	if lag > 0 {
		q.last = time.Now()
	}
	return true
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

// Release waits for the committed work; the stream is for the next queue.
func (q *queue) Release() error {
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
	d := q.device
	d.thread.do(func() { d.streams = append(d.streams, q.stream) })
	d.leaveQueue()
	return nil
}
