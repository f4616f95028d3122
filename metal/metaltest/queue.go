package metaltest

import (
	"math"
	"sync"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/kernels"
)

// arg is a binding: a buffer from an offset on, or inline bytes.
type arg struct {
	buffer metal.Buffer
	offset uint64
	inline []byte
}

func whole(b metal.Buffer) arg { return arg{buffer: b} }
func number(v float32) arg     { return arg{inline: kernels.Float32Bytes(v)} }
func integer(v int32) arg      { return arg{inline: kernels.Int32Bytes(v)} }

// record encodes one dispatch in an encoder of its own.
func record(t *testing.T, c metal.CommandBuffer, p metal.Pipeline, grid metal.Size, args ...arg) {
	t.Helper()
	e, err := c.NewEncoder()
	must(t, err)
	must(t, dispatch(e, p, grid, args...))
	must(t, e.End())
}

func dispatch(e metal.Encoder, p metal.Pipeline, grid metal.Size, args ...arg) error {
	e.SetPipeline(p)
	for i, a := range args {
		if a.buffer != nil {
			e.SetBuffer(i, a.buffer, a.offset)
		} else {
			e.SetBytes(i, a.inline)
		}
	}
	return e.Dispatch(grid)
}

// finish commits and waits.
func finish(t *testing.T, c metal.CommandBuffer) {
	t.Helper()
	must(t, c.Commit())
	must(t, c.Wait())
}

// floats are n float32 values of a buffer.
func floats(t *testing.T, b metal.Buffer, n int) []float32 {
	t.Helper()
	raw := make([]byte, 4*n)
	if _, err := b.ReadAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(decodeFloat(raw[4*i:]))
	}
	return out
}

func queueTests() []test {
	return []test{
		{"command buffers that were never committed fill it", fills},
		{"dropping or committing one makes room", makesRoom},
		{"its default maximum is 64", func(t *testing.T, s *suite) {
			q := s.queue(t, s.open(t), 0)
			for range 64 {
				s.command(t, q)
			}
			_, err := q.NewCommandBuffer()
			wants(t, err, metal.ErrQueueFull)
		}},
		{"a negative maximum is refused and a huge one costs nothing", func(t *testing.T, s *suite) {
			dev := s.open(t)
			_, err := dev.NewQueue(-1)
			wants(t, err, metal.ErrInvalid)
			drop(t, s.queue(t, dev, math.MaxInt))
		}},
		{"work completes in the order of commits", inOrder},
		{"releasing it completes the committed work", func(t *testing.T, s *suite) {
			dev := s.open(t)
			b, fill := s.buffer(t, dev, 4), s.pipeline(t, dev, "fill")
			q := s.queue(t, dev, 0)
			c := s.command(t, q)
			record(t, c, fill, metal.Size{X: 1}, whole(b), number(3))
			must(t, c.Commit())
			must(t, q.Release())
			if got := c.Status(); got != metal.Completed {
				t.Errorf("status is %d after the queue's release", got)
			}
			if got := floats(t, b, 1)[0]; got != 3 {
				t.Errorf("the work left %v, want 3", got)
			}
		}},
		{"a released one makes and takes nothing", func(t *testing.T, s *suite) {
			q := s.queue(t, s.open(t), 0)
			c := s.command(t, q)
			must(t, q.Release())
			_, err := q.NewCommandBuffer()
			wants(t, err, metal.ErrReleased)
			wants(t, c.Commit(), metal.ErrReleased)
			wants(t, q.Release(), metal.ErrReleased)
		}},
	}
}

func fills(t *testing.T, s *suite) {
	dev := s.open(t)
	q := s.queue(t, dev, 2)
	s.command(t, q)
	s.command(t, q)
	before := dev.Usage()
	for range 3 {
		_, err := q.NewCommandBuffer()
		wants(t, err, metal.ErrQueueFull)
	}
	if got := dev.Usage(); got != before {
		t.Errorf("a refused command buffer moved the usage from %+v to %+v", before, got)
	}
	drop(t, s.queue(t, dev, 1)) // another queue has room of its own
}

func makesRoom(t *testing.T, s *suite) {
	q := s.queue(t, s.open(t), 2)
	first, second := s.command(t, q), s.command(t, q)
	must(t, first.Release())
	third := s.command(t, q)
	must(t, second.Commit())
	fourth := s.command(t, q) // waits for the second
	if got := second.Status(); got == metal.NotEnqueued || got == metal.Failed {
		t.Errorf("the committed one has status %d", got)
	}
	_, err := q.NewCommandBuffer()
	if second.Wait() != nil || err == nil {
		t.Errorf("third and fourth are outstanding, the fifth has error %v", err)
	}
	wants(t, err, metal.ErrQueueFull)
	finish(t, third)
	finish(t, fourth)
}

// inOrder chains y = a y + i: every other order gives another sum. Several
// goroutines wait, the last command buffer first.
func inOrder(t *testing.T, s *suite) {
	const n = 40
	dev := s.open(t)
	b, affine := s.buffer(t, dev, 4), s.pipeline(t, dev, "affine")
	q := s.queue(t, dev, n)
	if _, err := b.WriteAt(make([]byte, 4), 0); err != nil {
		t.Fatal(err)
	}
	var made []metal.CommandBuffer
	want := float32(0)
	for i := range n {
		c := s.command(t, q)
		record(t, c, affine, metal.Size{X: 1}, whole(b), whole(b), number(0.5), number(float32(i)))
		made = append(made, c)
		want = 0.5*want + float32(i)
	}
	for _, c := range made {
		must(t, c.Commit())
	}
	var wait sync.WaitGroup
	for i := n - 1; i >= 0; i-- {
		wait.Go(func() {
			if err := made[i].Wait(); err != nil {
				t.Error(err)
			}
			for j := range i {
				if got := made[j].Status(); got != metal.Completed {
					t.Errorf("%d has completed, but %d has status %d", i, j, got)
				}
			}
		})
	}
	wait.Wait()
	if got := floats(t, b, 1)[0]; got != want {
		t.Errorf("the chain gives %v, want %v", got, want)
	}
}
