package apple

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
	"github.com/gpumem/gpumem/metal/kernels"
)

// try runs one kernel on books of its own: the driver takes once what it
// takes, and the device proves that it computes.
func (d *Device) try() error {
	trial := *d
	info := d.Info()
	info.RecommendedWorkingSet = info.MaxBufferLength
	trial.ledger, trial.options.Faults = command.NewLedger(info, metal.Faults{}), metal.Faults{}
	var err error
	if d.objc.do(func() { err = trial.probe() }); err != nil {
		return err
	}
	const want = 42
	got := math.NaN()
	if err := trial.fill(want, &got); err != nil {
		return err
	}
	if got != want {
		return &Error{
			Op: "try the device", Text: fmt.Sprintf("its first kernel wrote %v, not %d", got, want),
			Hint: "--device soft", is: metal.ErrUnsupported,
		}
	}
	return nil
}

// probe makes one of each object of the hot path and asks it for the messages
// that it will get, in a transaction.
func (d *Device) probe() error {
	o := d.objc
	q := id(o.send(d.device, selNewQueue, 1))
	if q == 0 {
		return &Error{Op: "make a queue", Text: "Metal made none", is: metal.ErrOutOfMemory}
	}
	defer o.release(q)
	if err := d.require("queue", q, ofQueue); err != nil {
		return err
	}
	c := id(o.send(q, selCommand))
	if c == 0 {
		return &Error{Op: "make a command buffer", Text: "Metal made none", is: metal.ErrOutOfMemory}
	}
	if err := d.require("command buffer", c, ofCommand); err != nil {
		return err
	}
	e := encoder{device: d, command: c}
	if err := e.begin(0); err != nil {
		return err
	}
	defer e.end()
	return d.require("encoder", e.object, ofEncoder)
}

// fill runs the kernel fill with one thread.
func (d *Device) fill(v float32, got *float64) (err error) {
	giveBack := func(release func() error) { err = errors.Join(err, release()) }
	b, err := d.NewBuffer(4, "gpumem: first kernel")
	if err != nil {
		return err
	}
	defer giveBack(b.Release)
	p, err := d.NewPipeline("fill")
	if err != nil {
		return err
	}
	defer giveBack(p.Release)
	q, err := d.NewQueue(1)
	if err != nil {
		return err
	}
	defer giveBack(q.Release)
	c, err := q.NewCommandBuffer()
	if err != nil {
		return err
	}
	defer giveBack(c.Release)
	e, err := c.NewEncoder()
	if err != nil {
		return err
	}
	e.SetPipeline(p)
	e.SetBuffer(0, b, 0)
	e.SetBytes(1, kernels.Float32Bytes(v))
	for _, step := range []func() error{func() error {
		return e.Dispatch(metal.Size{X: 1})
	}, e.End, c.Commit, c.Wait} {
		if err := step(); err != nil {
			return err
		}
	}
	raw := make([]byte, 4)
	if _, err := b.ReadAt(raw, 0); err != nil {
		return err
	}
	*got = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	return nil
}
