package pool_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gpumem/gpumem/metal"
)

// fakeDevice counts like a device and never touches a page, so that tests can
// ask for the real gigabytes of a model. Command buffers complete when a test
// says so, or when somebody waits.
type fakeDevice struct {
	info metal.Info

	mu       sync.Mutex
	usage    metal.Usage
	refuse   int    // so many NewBuffer calls fail, out of memory
	fail     string // the operation of that name fails
	emptied  int    // buffers marked Empty
	executed []uint32
	queues   []*fakeQueue
}

const (
	fakePage = 16 << 10
	fakeSet  = 16 << 30
)

func newFake() *fakeDevice {
	return &fakeDevice{info: metal.Info{
		Name: "fake", Driver: "fake", Unified: true, MaxBufferLength: 8 << 30,
		RecommendedWorkingSet: fakeSet, MaxBuffers: 499_000, PageSize: fakePage,
	}}
}

var errFake = errors.New("fake failure")

// failing returns the planted error of an operation; d.mu is held.
func (d *fakeDevice) failing(operation string) error {
	if d.fail == operation {
		return errFake
	}
	return nil
}

func (d *fakeDevice) plant(operation string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = operation
}

func (d *fakeDevice) Info() metal.Info { return d.info }

func (d *fakeDevice) Usage() metal.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.usage
}

func (d *fakeDevice) NewBuffer(length uint64, label string) (metal.Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := (length + fakePage - 1) / fakePage * fakePage
	oom := &metal.OutOfMemoryError{
		RequestedBytes: length, AllocatedBytes: uint64(d.usage.AllocatedBytes),
		LimitBytes: d.info.RecommendedWorkingSet, Reason: "fake",
	}
	switch {
	case length == 0 || length > d.info.MaxBufferLength:
		return nil, fmt.Errorf("new buffer of %d B: %w", length, metal.ErrInvalid)
	case d.refuse > 0:
		d.refuse--
		return nil, oom
	case uint64(d.usage.AllocatedBytes)+size > d.info.RecommendedWorkingSet:
		return nil, oom
	}
	d.usage.AllocatedBytes += int64(size)
	d.usage.Buffers++
	d.usage.TotalBuffers++
	return &fakeBuffer{dev: d, length: length, size: size, label: label}, nil
}

func (d *fakeDevice) NewQueue(int) (metal.Queue, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := &fakeQueue{dev: d}
	d.queues = append(d.queues, q)
	return q, nil
}

func (d *fakeDevice) NewPipeline(kernel string) (metal.Pipeline, error) {
	if kernel != "noop" {
		return nil, fmt.Errorf("pipeline %q: %w", kernel, metal.ErrInvalid)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.usage.Pipelines++
	return fakePipeline{d}, nil
}

func (d *fakeDevice) Autorelease(f func()) { f() }
func (d *fakeDevice) Close() error         { return nil }

// complete finishes the oldest n command buffers of each queue, all when n is
// negative.
func (d *fakeDevice) complete(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, q := range d.queues {
		for i := 0; len(q.committed) > 0 && (n < 0 || i < n); i++ {
			q.finishFirst()
		}
	}
}

// fakeBuffer has memory for its first four bytes only: a parameter.
type fakeBuffer struct {
	dev      *fakeDevice
	length   uint64
	size     uint64
	label    string
	word     [4]byte
	retained int
	released bool
	state    metal.PurgeableState
}

func (b *fakeBuffer) ReadAt(p []byte, off int64) (int, error) {
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	if off != 0 {
		return 0, io.EOF
	}
	return copy(p, b.word[:]), nil
}

func (b *fakeBuffer) WriteAt(p []byte, off int64) (int, error) {
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	if b.released {
		return 0, metal.ErrReleased
	}
	if err := b.dev.failing("write"); err != nil {
		return 0, err
	}
	if off != 0 || len(p) > len(b.word) {
		return 0, io.EOF
	}
	return copy(b.word[:], p), nil
}

func (b *fakeBuffer) Length() uint64        { return b.length }
func (b *fakeBuffer) AllocatedSize() uint64 { return b.size }
func (b *fakeBuffer) Label() string         { return b.label }
func (b *fakeBuffer) Contents() []byte      { return nil }

func (b *fakeBuffer) SetPurgeable(s metal.PurgeableState) metal.PurgeableState {
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	old := b.state
	b.state = s
	if s == metal.Empty {
		b.dev.emptied++
	}
	return old
}

func (b *fakeBuffer) Release() error {
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	if b.released {
		return fmt.Errorf("release %q: %w", b.label, metal.ErrReleased)
	}
	b.released = true
	b.collect()
	return b.dev.failing("release buffer")
}

func (b *fakeBuffer) collect() {
	if b.released && b.retained == 0 {
		b.dev.usage.AllocatedBytes -= int64(b.size)
		b.dev.usage.Buffers--
	}
}

type fakePipeline struct{ dev *fakeDevice }

func (fakePipeline) Kernel() string { return "noop" }

func (p fakePipeline) Release() error {
	p.dev.mu.Lock()
	defer p.dev.mu.Unlock()
	p.dev.usage.Pipelines--
	return p.dev.failing("release pipeline")
}

type fakeQueue struct {
	dev       *fakeDevice
	committed []*fakeCommands
}

func (q *fakeQueue) Release() error { return nil }

func (q *fakeQueue) NewCommandBuffer() (metal.CommandBuffer, error) {
	q.dev.mu.Lock()
	defer q.dev.mu.Unlock()
	if err := q.dev.failing("command buffer"); err != nil {
		return nil, err
	}
	q.dev.usage.TotalCommandBuffers++
	return &fakeCommands{queue: q}, nil
}

func (q *fakeQueue) finishFirst() {
	c := q.committed[0]
	q.committed = q.committed[1:]
	for _, b := range c.bound {
		q.dev.executed = append(q.dev.executed, binary.LittleEndian.Uint32(b.word[:]))
		b.retained--
		b.collect()
	}
	c.status = metal.Completed
	if c.err != nil {
		c.status = metal.Failed
	}
	q.dev.usage.InFlight--
}

// fakeCommands is a command buffer and its encoder. When it completes, the
// device notes the first word of each bound buffer: what a kernel would read.
type fakeCommands struct {
	queue  *fakeQueue
	bound  []*fakeBuffer
	status metal.Status
	err    error
}

func (c *fakeCommands) NewEncoder() (metal.Encoder, error) { return c, c.failing("encoder") }

func (c *fakeCommands) failing(operation string) error {
	c.queue.dev.mu.Lock()
	defer c.queue.dev.mu.Unlock()
	return c.queue.dev.failing(operation)
}

// drop gives up what is bound, when the work will never run; dev.mu is held.
func (c *fakeCommands) drop() {
	for _, b := range c.bound {
		b.retained--
		b.collect()
	}
	c.bound = nil
}

func (c *fakeCommands) Commit() error {
	c.queue.dev.mu.Lock()
	defer c.queue.dev.mu.Unlock()
	if err := c.queue.dev.failing("commit"); err != nil {
		c.drop()
		return err
	}
	c.status = metal.Committed
	c.queue.committed = append(c.queue.committed, c)
	c.queue.dev.usage.InFlight++
	return nil
}

func (c *fakeCommands) Wait() error {
	c.queue.dev.mu.Lock()
	defer c.queue.dev.mu.Unlock()
	for c.status == metal.Committed {
		c.queue.finishFirst()
	}
	return c.err
}

func (c *fakeCommands) Status() metal.Status {
	c.queue.dev.mu.Lock()
	defer c.queue.dev.mu.Unlock()
	return c.status
}

func (c *fakeCommands) Err() error     { return c.err }
func (c *fakeCommands) Release() error { return c.failing("release command buffer") }

func (c *fakeCommands) SetPipeline(metal.Pipeline) {}

func (c *fakeCommands) SetBuffer(_ int, b metal.Buffer, _ uint64) {
	c.queue.dev.mu.Lock()
	defer c.queue.dev.mu.Unlock()
	f := b.(*fakeBuffer)
	f.retained++
	c.bound = append(c.bound, f)
}

func (c *fakeCommands) SetBytes(int, []byte) {}

func (c *fakeCommands) Dispatch(grid metal.Size) error {
	if grid.X < 0 {
		c.err = fmt.Errorf("grid %v: %w", grid, metal.ErrInvalid) // as if the device found out
	}
	return c.failing("dispatch")
}

func (c *fakeCommands) End() error { return c.failing("end") }
