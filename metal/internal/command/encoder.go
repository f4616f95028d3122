package command

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/metal"
)

const (
	// maxInline is Metal's limit of setBytes.
	maxInline = 4 << 10
	// maxArguments is Metal's number of buffer argument entries.
	maxArguments = 31
)

// encoder records dispatches. The lock is its command buffer's.
type encoder struct {
	cmd      *CommandBuffer
	pass     int
	pipeline ownPipeline
	args     []Binding
	err      error // of a binding, reported by the next Dispatch
	ended    bool
}

// SetPipeline chooses the kernel of the dispatches that follow.
func (e *encoder) SetPipeline(p metal.Pipeline) {
	ours, ok := p.(ownPipeline)
	if !ok || ours.base().ledger != e.cmd.queue.ledger {
		e.fail(fmt.Errorf("set pipeline: of another device: %w", metal.ErrInvalid))
		return
	}
	e.pipeline = ours
}

// SetBuffer binds b; it is retained when a dispatch uses it.
func (e *encoder) SetBuffer(index int, b metal.Buffer, offset uint64) {
	ours, ok := b.(Buffer)
	switch {
	case !ok || ours.Ledger() != e.cmd.queue.ledger:
		e.fail(fmt.Errorf("set buffer %d: no buffer of this device: %w", index, metal.ErrInvalid))
	case offset >= ours.Length():
		e.fail(fmt.Errorf("set buffer %d: offset %d of %d: %w", index, offset, ours.Length(),
			metal.ErrInvalid))
	default:
		e.bind(index, Binding{Buffer: ours, Offset: offset})
	}
}

// SetBytes copies p.
func (e *encoder) SetBytes(index int, p []byte) {
	if len(p) == 0 || len(p) > maxInline {
		e.fail(fmt.Errorf("set bytes %d: %d B, allowed 1 to %d: %w", index, len(p), maxInline,
			metal.ErrInvalid))
		return
	}
	e.bind(index, Binding{Bytes: bytes.Clone(p)})
}

func (e *encoder) bind(index int, b Binding) {
	if index < 0 || index >= maxArguments {
		e.fail(fmt.Errorf("argument index %d, allowed 0 to %d: %w", index, maxArguments-1, metal.ErrInvalid))
		return
	}
	if index >= len(e.args) {
		e.args = append(e.args, make([]Binding, index+1-len(e.args))...)
	}
	e.args[index] = b
}

func (e *encoder) fail(err error) { e.err = errors.Join(e.err, err) }

// Dispatch records one dispatch with the present bindings.
func (e *encoder) Dispatch(grid metal.Size) error {
	e.cmd.mu.Lock()
	defer e.cmd.mu.Unlock()
	if err := e.ready(grid); err != nil {
		return fmt.Errorf("dispatch: %w", err)
	}
	p := e.pipeline.base()
	args := slices.Clone(e.args[:len(p.kernel.Args)])
	if err := e.retain(p, args); err != nil {
		return fmt.Errorf("dispatch %s: %w", p.kernel.Name, err)
	}
	e.cmd.dispatches = append(e.cmd.dispatches,
		Dispatch{Pipeline: e.pipeline, Kernel: &p.kernel, Grid: grid, Args: args, Pass: e.pass})
	return nil
}

// retain keeps what the dispatch uses. The lock is held.
func (e *encoder) retain(p *Pipeline, args []Binding) error {
	if p.free != nil {
		if err := e.cmd.retain(p); err != nil {
			return err
		}
	}
	for i := range args {
		if b := args[i].Buffer; b != nil {
			if err := e.cmd.retain(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// ready reports why no dispatch can be recorded now. The lock is held.
func (e *encoder) ready(grid metal.Size) error {
	err := e.err
	e.err = nil
	switch {
	case err != nil:
		return err
	case e.ended || e.cmd.released:
		return fmt.Errorf("encoder: %w", metal.ErrReleased)
	case e.pipeline == nil:
		return fmt.Errorf("no pipeline is set: %w", metal.ErrInvalid)
	case !e.pipeline.base().usable():
		return fmt.Errorf("pipeline %s: %w", e.pipeline.Kernel(), metal.ErrReleased)
	case grid.X < 0 || grid.Y < 0 || grid.Z < 0:
		return fmt.Errorf("grid %dx%dx%d is negative: %w", grid.X, grid.Y, grid.Z, metal.ErrInvalid)
	}
	return e.bound()
}

// bound reports the first argument without a binding that fits it.
func (e *encoder) bound() error {
	k := &e.pipeline.base().kernel
	for i, a := range k.Args {
		switch {
		case i >= len(e.args) || (e.args[i].Buffer == nil && e.args[i].Bytes == nil):
			return fmt.Errorf("kernel %s: argument %d (%s) is not bound: %w", k.Name, i,
				a.Name, metal.ErrInvalid)
		case a.Kind.Writes() && e.args[i].Buffer == nil:
			return fmt.Errorf("kernel %s: argument %d (%s) is written, inline bytes cannot be: %w",
				k.Name, i, a.Name, metal.ErrInvalid)
		}
	}
	return nil
}

// End closes the encoder.
func (e *encoder) End() error {
	e.cmd.mu.Lock()
	defer e.cmd.mu.Unlock()
	if e.ended {
		return fmt.Errorf("end encoder: %w", metal.ErrReleased)
	}
	e.ended, e.cmd.open = true, false
	return nil
}
