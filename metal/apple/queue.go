package apple

import (
	"cmp"
	"errors"
	"time"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

// longestQueue is what a queue may have outstanding. Metal keeps something for
// each; 4,096 is what WebKit and wgpu ask for (wgpu, pull request 7858).
const longestQueue = 4096

// queue is an MTLCommandQueue. Committed command buffers are waited for on the
// line's goroutine.
type queue struct {
	device *Device
	object id
	line   *command.Line
}

// flight is a command buffer that was handed over.
type flight struct {
	encoded int   // dispatches
	settled int   // of them, complete when it was handed over
	err     error // why the others were not encoded
}

// NewQueue makes a queue and starts its goroutine, which ends with Release.
func (d *Device) NewQueue(maxCommandBuffers int) (metal.Queue, error) {
	q, err := d.ledger.NewQueue(min(maxCommandBuffers, longestQueue),
		func(limit int) (command.Driver, error) {
			q := &queue{device: d}
			d.objc.do(func() { q.object = id(d.objc.send(d.device, selNewQueue, uintptr(limit))) })
			if q.object == 0 {
				return nil, &Error{Op: "make a queue", Text: "Metal made none", is: metal.ErrOutOfMemory}
			}
			q.line = command.NewLine(q.wait)
			return q, nil
		})
	if err != nil {
		return nil, err // not a nil *Queue in the interface
	}
	return q, nil
}

// Begin makes Metal's command buffer, which retains what is bound in it.
func (q *queue) Begin(c *command.CommandBuffer) error {
	o := q.device.objc
	o.do(func() { c.Handle = uintptr(o.own(id(o.send(q.object, selCommand)))) })
	if c.Handle == 0 {
		return &Error{Op: "make a command buffer", Text: "Metal made none", is: metal.ErrOutOfMemory}
	}
	return nil
}

// BeginEncoder does nothing: encoders are made when the work is committed.
func (q *queue) BeginEncoder(*command.CommandBuffer) {}

// Submit encodes the work and commits it.
func (q *queue) Submit(c *command.CommandBuffer) {
	f := &flight{}
	o := q.device.objc
	o.do(func() {
		e := encoder{device: q.device, queue: q.object, command: id(c.Handle)}
		f.encoded, f.err = e.encodeAll(c.Dispatches())
		f.settled = e.settled
		if c.Handle = uintptr(e.command); c.Handle != 0 {
			o.send(e.command, selCommit)
		}
	})
	c.Flight = f
	q.line.Add(c)
}

// wait waits for one command buffer and ends it.
func (q *queue) wait(c *command.CommandBuffer) {
	c.Schedule()
	f := c.Flight.(*flight)
	o := q.device.objc
	var failed error
	o.do(func() {
		if c.Handle != 0 {
			failed = q.device.finish(id(c.Handle))
		}
	})
	for i := f.settled; i < f.encoded; i++ {
		written(&c.Dispatches()[i], func(m *memory) { m.writers.Add(-1) })
	}
	err := errors.Join(failed, f.err)
	if errors.Is(err, ErrLost) {
		q.device.ledger.Lose(err)
	}
	if lag := q.device.options.Faults.CompletionLag; lag > 0 {
		time.Sleep(lag)
	}
	c.Complete(f.encoded, err)
}

// finish waits for a committed command buffer, releases it and returns its
// error, in a transaction.
func (d *Device) finish(c id) error {
	defer d.objc.release(c)
	d.objc.send(c, selWait)
	if d.objc.send(c, selStatus) != statusError {
		return nil
	}
	why := id(d.objc.send(c, selError))
	if why == 0 {
		return &Error{Op: "run the kernels", Text: "Metal failed without giving a reason"}
	}
	code := Code(int(d.objc.send(why, selCode)))
	hint, is := advice(code)
	return &Error{Op: "run the kernels", Code: code, Text: cmp.Or(d.objc.words(why), "no words"),
		Hint: hint, is: is}
}

// Drop releases a command buffer that was never committed.
func (q *queue) Drop(c *command.CommandBuffer) {
	q.device.objc.do(func() { q.device.objc.release(id(c.Handle)) })
}

// Close ends the goroutine and releases Metal's queue.
func (q *queue) Close() error {
	q.line.End()
	q.device.objc.do(func() { q.device.objc.release(q.object) })
	return nil
}
