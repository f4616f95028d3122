package pool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/metal"
)

// flight is a command buffer on its way, with the slots that it uses.
type flight struct {
	id    uint64 // unique in the pool, to enter a slot once
	buf   metal.CommandBuffer
	slots []*slot
}

// begin opens a command buffer.
func (b *Batch) begin() error {
	buf, err := b.queue.NewCommandBuffer()
	if err != nil {
		return fmt.Errorf("new command buffer: %w", err)
	}
	f := &flight{}
	if n := len(b.free); n > 0 {
		f, b.free = b.free[n-1], b.free[:n-1]
	}
	f.id, f.buf = b.pool.useIDs.Add(1), buf
	b.open = f
	return nil
}

// record encodes the command into the open command buffer.
func (b *Batch) record(c Command) (err error) {
	enc, err := b.open.buf.NewEncoder()
	if err != nil {
		return fmt.Errorf("new encoder: %w", err)
	}
	defer func() {
		if e := enc.End(); e != nil {
			err = errors.Join(err, fmt.Errorf("end encoder: %w", e))
		}
	}()
	b.params = b.params[:0]
	for _, d := range c.Dispatches {
		if err := b.dispatch(enc, d); err != nil {
			return errors.Join(fmt.Errorf("dispatch %s: %w", d.Kernel, err), b.giveUpParams())
		}
	}
	return b.giveUpParams()
}

// passed is a parameter of the command being encoded: in a buffer, else inline.
type passed struct {
	handle Handle
	bits   uint32
	inline bool
}

func (b *Batch) dispatch(enc metal.Encoder, d Dispatch) error {
	k, err := b.pool.kernels.get(b.pool.dev, d.Kernel, &b.pool.closed)
	if err != nil {
		return err
	}
	enc.SetPipeline(k)
	for i, a := range d.Args {
		switch a.kind {
		case bufArg:
			if err := b.open.use(a.handle); err != nil {
				return fmt.Errorf("argument %d: %w", i, err)
			}
			enc.SetBuffer(i, a.handle.s.buf, a.offset)
		case sameArg:
			b.bind(enc, i, b.params[a.offset])
		default:
			p, err := b.pass(a)
			if err != nil {
				return fmt.Errorf("argument %d: %w", i, err)
			}
			b.bind(enc, i, p)
		}
	}
	return enc.Dispatch(d.Grid)
}

// bind makes a parameter an argument of the dispatch.
func (b *Batch) bind(enc metal.Encoder, index int, p passed) {
	if !p.inline {
		enc.SetBuffer(index, p.handle.s.buf, 0)
		return
	}
	binary.LittleEndian.PutUint32(b.scratch[:], p.bits)
	enc.SetBytes(index, b.scratch[:])
}

// pass makes a parameter of the command, in a buffer of its own where the policy or the
// fault wants that.
func (b *Batch) pass(a Arg) (passed, error) {
	p := passed{bits: a.bits, inline: !b.fresh && b.pool.policy.MaxParams <= 0}
	b.counted.params.Add(1)
	if p.inline {
		b.params = append(b.params, p)
		return p, nil
	}
	kind, label := a.param()
	var err error
	if p.handle, err = b.paramBuffer(kind, label); err != nil {
		return p, err
	}
	b.params = append(b.params, p)
	b.counted.paramBuffers.Add(1)
	binary.LittleEndian.PutUint32(b.scratch[:], a.bits)
	_, err = p.handle.s.buf.WriteAt(b.scratch[:], 0)
	if err == nil {
		err = b.open.use(p.handle)
	}
	if err != nil {
		return p, fmt.Errorf("write %s: %w", label, err)
	}
	return p, nil
}

func (b *Batch) paramBuffer(kind classKey, label string) (Handle, error) {
	if b.fresh {
		return b.pool.Get(Request{Elements: 1, ElementSize: paramBytes, Label: label, Unpooled: true})
	}
	return b.pool.getParam(kind, label)
}

// giveUpParams gives the parameter buffers of a command up once it is
// encoded: they are pending until the command buffer has completed, or idle
// at once under a policy that returns early. Under the fault they stay.
func (b *Batch) giveUpParams() (err error) {
	if b.fresh {
		return nil
	}
	for _, p := range b.params {
		if p.inline {
			continue
		}
		if _, e := p.handle.Release(); e != nil {
			err = errors.Join(err, e)
		}
	}
	return err
}

// use notes that the command buffer uses the handle's slot.
func (f *flight) use(h Handle) error {
	sh := h.s.lockHome()
	defer sh.mu.Unlock()
	if h.count() == 0 {
		return ErrStale
	}
	if h.s.lastUse != f.id {
		h.s.lastUse = f.id
		h.s.uses++
		f.slots = append(f.slots, h.s)
	}
	return nil
}

func (b *Batch) commit() error {
	f := b.open
	if f == nil {
		return nil
	}
	b.open = nil
	b.counted.pending.Store(0)
	if err := f.buf.Commit(); err != nil {
		return errors.Join(fmt.Errorf("commit command buffer: %w", err), b.complete(f))
	}
	b.counted.commandBuffers.Add(1)
	b.flights = append(b.flights, f)
	now := int64(len(b.flights))
	b.counted.inFlight.Store(now)
	if now > b.counted.maxInFlight.Load() { // b.mu is held: nobody else raises it
		b.counted.maxInFlight.Store(now)
	}
	return nil
}

// sync commits and waits for all flights.
func (b *Batch) sync() error {
	err := b.commit()
	if len(b.flights) > 0 {
		b.counted.syncs.Add(1)
	}
	for _, f := range b.flights {
		b.finish(f, f.buf.Wait())
	}
	clear(b.flights)
	b.flights = b.flights[:0]
	b.counted.inFlight.Store(0)
	if b.pool.policy.SweepAtWait {
		purge(b.pool, ActionSweep)
	}
	err, b.failed = errors.Join(err, b.failed), nil
	return err
}

// finish settles a completed flight and keeps its error for the next Sync.
func (b *Batch) finish(f *flight, err error) {
	if err != nil {
		b.counted.failed.Add(1)
	}
	if e := b.complete(f); err != nil || e != nil {
		b.failed = errors.Join(b.failed, err, e)
	}
}

// pollLocked settles the command buffers that have completed, in order, and
// reports whether there were any.
func (b *Batch) pollLocked() bool {
	n := 0
	for _, f := range b.flights {
		status := f.buf.Status()
		if status != metal.Completed && status != metal.Failed {
			break
		}
		b.finish(f, f.buf.Err())
		n++
	}
	if n > 0 {
		b.flights = slices.Delete(b.flights, 0, n)
		b.counted.inFlight.Store(int64(len(b.flights)))
	}
	return n > 0
}

// complete releases what a command buffer held.
func (b *Batch) complete(f *flight) error {
	for i, s := range f.slots {
		b.pool.settle(s)
		f.slots[i] = nil
	}
	err := f.buf.Release()
	f.buf, f.slots = nil, f.slots[:0]
	b.free = append(b.free, f)
	if err != nil {
		return fmt.Errorf("release command buffer: %w", err)
	}
	return nil
}

// settle takes one use off the slot; a pending one that has no other gets its
// final outcome.
func (p *Pool) settle(s *slot) {
	if p.observer != nil {
		observed{p}.settle(s)
		return
	}
	p.unuse(s)
}

// unuse is settle without an observer; NoOutcome says that the slot was not
// pending or has other uses.
func (p *Pool) unuse(s *slot) Outcome {
	sh := s.lockHome()
	s.uses--
	if s.uses > 0 || s.state != isPending {
		sh.mu.Unlock()
		return NoOutcome
	}
	if s.doomed {
		sh.leavePending(s)
		sh.forget(s)
		rest := p.atRest(sh)
		sh.mu.Unlock()
		p.evict(s)
		if rest {
			p.rest()
		}
		return NoOutcome
	}
	out, evicted := p.keep(sh, s, false)
	sh.leavePending(s)
	out, _ = p.conclude(sh, s, out, evicted) // counted in ReleaseErrors
	return out
}
