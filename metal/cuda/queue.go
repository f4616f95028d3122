package cuda

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

// queue is a stream. Committed command buffers are launched on the device's
// thread in commit order and complete in that order.
type queue struct {
	device *Device
	stream uintptr

	// Of the device's thread alone.
	flying []*flight // launched, not completed, oldest first
	last   time.Time // of the last completion
}

// flight is a launched command buffer.
type flight struct {
	command *command.CommandBuffer
	event   uintptr   // 0: there is none, the whole stream is waited for
	inline  []uintptr // memory of inline bytes that kernels read
	ran     int
	err     error     // of the launch
	done    bool      // its work is, but not the planted lag
	from    time.Time // of the lag
}

// NewQueue makes a queue.
func (d *Device) NewQueue(maxCommandBuffers int) (metal.Queue, error) {
	made, err := d.ledger.NewQueue(maxCommandBuffers, func(int) (command.Driver, error) {
		q := &queue{device: d}
		var err error
		d.thread.do(func() { q.stream, err = d.stream() })
		return q, d.note(err)
	})
	if err != nil {
		return nil, err // not a nil *Queue in the interface
	}
	return made, nil
}

// stream is one that was used before, or a new one. It runs on the thread.
func (d *Device) stream() (uintptr, error) {
	if n := len(d.streams); n > 0 {
		s := d.streams[n-1]
		d.streams = d.streams[:n-1]
		return s, nil
	}
	s := new(uintptr)
	err := d.lib.failure("make a stream",
		d.lib.call(symStreamCreate, uintptr(unsafe.Pointer(s)), streamNonBlocking))
	return *s, err
}

func (q *queue) Begin(*command.CommandBuffer) error { return nil }

func (q *queue) BeginEncoder(*command.CommandBuffer) {}

// Submit hands a command buffer to the device's thread.
func (q *queue) Submit(c *command.CommandBuffer) {
	q.device.thread.post(func() { q.start(c) }) // open, as the queue is
}

func (q *queue) Drop(*command.CommandBuffer) {}

// Close leaves the stream for the next queue.
func (q *queue) Close() error {
	d := q.device
	d.thread.do(func() { d.streams = append(d.streams, q.stream) })
	return nil
}

// start launches a command buffer's work. It is a task of the thread.
func (q *queue) start(c *command.CommandBuffer) {
	d := q.device
	f := &flight{command: c}
	c.Schedule()
	f.ran, f.err = q.launch(f)
	if code := d.record(f, q.stream); code != codeSuccess && f.err == nil {
		f.err = d.lib.failure("record the end of the work", code)
	}
	if len(q.flying) == 0 {
		d.active = append(d.active, q)
	}
	q.flying = append(q.flying, f)
}

// launch hands the dispatches to the stream in order; the first that cannot be
// ends it. It says how many were. It runs on the device's thread.
func (q *queue) launch(f *flight) (ran int, err error) {
	all := f.command.Dispatches()
	for i := range all {
		l := launch{Dispatch: &all[i], device: q.device, stream: q.stream}
		err := l.start()
		f.inline = append(f.inline, l.inline...)
		if err != nil {
			return i, fmt.Errorf("dispatch %d: %w", i, q.device.note(err))
		}
	}
	return len(all), nil
}

// complete gives the memory of inline bytes back and ends the command buffer,
// on the device's thread.
func (f *flight) complete(m *memory) {
	failed := []error{f.err}
	for _, address := range f.inline {
		failed = append(failed, m.put(address))
	}
	f.command.Complete(f.ran, errors.Join(failed...))
}

// record puts an event behind the work of a flight.
func (d *Device) record(f *flight, stream uintptr) Code {
	event := new(uintptr)
	if n := len(d.events); n > 0 {
		*event, d.events = d.events[n-1], d.events[:n-1]
	} else if code := d.lib.call(symEventCreate, uintptr(unsafe.Pointer(event)),
		eventDisableTiming); code != codeSuccess {
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
			f.complete(&d.memory)
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
