package pool

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gpumem/gpumem/metal"
)

// defaultBatchLimit is NEATML's number of commands before a flush.
const defaultBatchLimit = 100

// Fault is a defect that NewBatch plants.
type Fault string

// The faults of a batch.
const (
	// FreshParams makes a new 4-byte buffer for each parameter, under every
	// policy, and never gives one up: a leak that grows with the commands.
	FreshParams Fault = "fresh-params"
	// NoFlush switches the automatic flush off: one command buffer, or a
	// backlog of them, grows for as long as the program does not Sync.
	NoFlush Fault = "no-flush"
)

// Command is one counted operation: one dispatch or several that follow each
// other.
type Command struct {
	Name       string
	Dispatches []Dispatch
}

// Dispatch runs one kernel over a grid. The arguments take the kernel's
// argument indices in order.
type Dispatch struct {
	Kernel string
	Grid   metal.Size
	Args   []Arg
}

// Batch groups commands into command buffers of one queue. It is what tells
// the pool when the device is done: a buffer used by a command that it
// encoded is not reused before that command's command buffer has completed
// (unless the policy returns early). Work submitted past it is not known to
// the pool.
//
// A batch opens no autorelease scope: the temporaries that the driver makes
// for its command buffers and encoders belong to the scope the caller is in.
//
// It is safe for concurrent use, one method at a time; commands run in the
// order of the Encode calls.
type Batch struct {
	pool   *Pool
	queue  metal.Queue
	limit  int
	fresh  bool
	noAuto bool

	mu      sync.Mutex
	open    *flight // command buffer being encoded, nil when there is none
	flights []*flight
	free    []*flight // completed, to be used again
	failed  error     // of completed command buffers, not yet reported
	scratch [paramBytes]byte
	params  []passed // of the command being encoded
	closed  bool

	// counted is read without mu, so that a sampler never waits for a Sync.
	counted batchCounts
}

type batchCounts struct {
	pending, inFlight, maxInFlight atomic.Int64

	commands, dispatches, params, paramBuffers atomic.Uint64
	commandBuffers, flushes, syncs, failed     atomic.Uint64
}

// BatchStats is what a batch counts.
type BatchStats struct {
	Pending     int    // commands since the last commit, what the flush rule counts
	InFlight    int    // command buffers committed and not seen completed
	MaxInFlight int    // high-water mark of InFlight
	Commands    uint64 // encoded
	Dispatches  uint64
	Params      uint64 // int and float arguments
	// ParamBuffers counts those that took a buffer; the others were inline.
	ParamBuffers   uint64
	CommandBuffers uint64 // committed
	Flushes        uint64 // commits by the automatic flush
	Syncs          uint64 // waits, flushes included
	Failed         uint64 // command buffers that completed with an error
}

// NewBatch makes a batch that commits to q. limit is how many commands are
// encoded before the next one flushes, 0 for 100. The queue stays the
// caller's.
func NewBatch(p *Pool, q metal.Queue, limit int, faults ...Fault) (*Batch, error) {
	if p == nil || q == nil || limit < 0 {
		return nil, fmt.Errorf("new batch: pool %v, queue %v, limit %d: %w", p != nil, q != nil,
			limit, ErrRequest)
	}
	b := &Batch{pool: p, queue: q, limit: limit}
	if limit == 0 {
		b.limit = defaultBatchLimit
	}
	for _, f := range faults {
		switch f {
		case FreshParams:
			b.fresh = true
		case NoFlush:
			b.noAuto = true
		default:
			return nil, fmt.Errorf("new batch: fault %q: %w", f, ErrRequest)
		}
	}
	if !p.batches.add(b, &p.closed) {
		return nil, fmt.Errorf("new batch: %w", ErrClosed)
	}
	return b, nil
}

// Encode adds one command. When the limit of commands is encoded already it
// first commits and waits: the flush comes before command 101, not after 100.
// Nothing is encoded when a handle is stale or foreign, or when that flush
// reports a failed command buffer.
func (b *Batch) Encode(c Command) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.encode(c); err != nil {
		return fmt.Errorf("encode %s: %w", c.Name, err)
	}
	return nil
}

func (b *Batch) encode(c Command) error {
	if b.closed {
		return ErrClosed
	}
	if err := b.check(c); err != nil {
		return err
	}
	b.pollLocked()
	if b.counted.pending.Load() >= int64(b.limit) && !b.noAuto {
		b.counted.flushes.Add(1)
		if err := b.sync(); err != nil {
			return err
		}
	}
	if b.open == nil {
		if err := b.begin(); err != nil {
			return err
		}
	}
	if err := b.record(c); err != nil {
		return err
	}
	b.counted.pending.Add(1)
	b.counted.commands.Add(1)
	b.counted.dispatches.Add(uint64(len(c.Dispatches)))
	return nil
}

// check refuses a command before any of it is encoded.
func (b *Batch) check(c Command) error {
	if len(c.Dispatches) == 0 {
		return fmt.Errorf("no dispatches: %w", ErrRequest)
	}
	params := 0
	for i, d := range c.Dispatches {
		earlier := params
		for j, a := range d.Args {
			if err := a.check(b.pool, earlier); err != nil {
				return fmt.Errorf("dispatch %d, argument %d: %w", i, j, err)
			}
			if a.isParam() {
				params++
			}
		}
	}
	return nil
}

// Commit hands the open command buffer to the device without waiting and
// resets the counter; without an open one it does nothing.
func (b *Batch) Commit() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.commit(); err != nil {
		return fmt.Errorf("commit batch: %w", err)
	}
	return nil
}

// Sync commits, waits until everything that the batch committed has
// completed, and resets the counter. Without an open command buffer none is
// made. It reports the errors of command buffers that failed since the last
// Sync. A policy that sweeps at a wait drops its idle buffers here.
func (b *Batch) Sync() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.sync(); err != nil {
		return fmt.Errorf("sync batch: %w", err)
	}
	return nil
}

// Cleanup syncs and empties the parameter pools; pipelines stay.
func (b *Batch) Cleanup() error {
	b.mu.Lock()
	err := b.sync()
	b.mu.Unlock()
	r := b.pool.dropParams(ActionCleanup)
	if r.Errors > 0 {
		err = errors.Join(err, fmt.Errorf("the device refused %d parameter buffers", r.Errors))
	}
	if err != nil {
		return fmt.Errorf("clean batch up: %w", err)
	}
	return nil
}

// Close syncs and ends the batch; the queue is not released. Closing twice
// does nothing.
func (b *Batch) Close() error {
	b.mu.Lock()
	err := b.sync()
	b.closed = true
	b.mu.Unlock()
	b.pool.batches.forget(b)
	if err != nil {
		return fmt.Errorf("close batch: %w", err)
	}
	return nil
}

// Stats returns the counts, after a look at what has completed unless another
// method is at work. It never waits.
func (b *Batch) Stats() BatchStats {
	if b.mu.TryLock() {
		b.pollLocked()
		b.mu.Unlock()
	}
	c := &b.counted
	return BatchStats{
		Pending:        int(c.pending.Load()),
		InFlight:       int(c.inFlight.Load()),
		MaxInFlight:    int(c.maxInFlight.Load()),
		Commands:       c.commands.Load(),
		Dispatches:     c.dispatches.Load(),
		Params:         c.params.Load(),
		ParamBuffers:   c.paramBuffers.Load(),
		CommandBuffers: c.commandBuffers.Load(),
		Flushes:        c.flushes.Load(),
		Syncs:          c.syncs.Load(),
		Failed:         c.failed.Load(),
	}
}
