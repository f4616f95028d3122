package soft

import (
	"fmt"
	"time"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
	"github.com/gpumem/gpumem/metal/kernels"
)

// queue runs command buffers in commit order on a goroutine of its own.
type queue struct {
	device *Device
	line   *command.Line
}

// NewQueue makes a queue and starts its goroutine, which ends with Release.
func (d *Device) NewQueue(maxCommandBuffers int) (metal.Queue, error) {
	q, err := d.ledger.NewQueue(maxCommandBuffers, func(int) (command.Driver, error) {
		q := &queue{device: d}
		q.line = command.NewLine(q.run)
		return q, nil
	})
	if err != nil {
		return nil, err // not a nil *Queue in the interface
	}
	return q, nil
}

func (q *queue) Begin(*command.CommandBuffer) error {
	q.device.temps.make()
	return nil
}

func (q *queue) BeginEncoder(*command.CommandBuffer) { q.device.temps.make() }

func (q *queue) Submit(c *command.CommandBuffer) { q.line.Add(c) }

func (q *queue) Drop(*command.CommandBuffer) {}

func (q *queue) Close() error {
	q.line.End()
	return nil
}

// run executes one command buffer on the queue's goroutine.
func (q *queue) run(c *command.CommandBuffer) {
	c.Schedule()
	ran, err := q.device.execute(c.Dispatches())
	if lag := q.device.faults.CompletionLag; lag > 0 {
		time.Sleep(lag)
	}
	q.device.leak()
	c.Complete(ran, err)
}

// execute runs dispatches in order; the first that fails ends it. It says how
// many ran.
func (d *Device) execute(all []command.Dispatch) (ran int, err error) {
	for i := range all {
		if err := guard(func() error { return d.launch(&all[i]) }); err != nil {
			return i, fmt.Errorf("dispatch %d: %w", i, err)
		}
	}
	return len(all), nil
}

func (d *Device) launch(l *command.Dispatch) error {
	args := make([][]byte, len(l.Args))
	for i, b := range l.Args {
		args[i] = b.Bytes
		if b.Buffer != nil {
			args[i] = b.Buffer.(*command.HostBuffer).Memory().Bytes()[b.Offset:b.Buffer.Length()]
		}
	}
	return l.Kernel.Run(kernels.Call{Grid: l.Grid, Args: args, Parallel: d.runner.parallel})
}
