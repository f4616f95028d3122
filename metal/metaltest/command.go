package metaltest

import (
	"slices"
	"testing"
	"time"

	"github.com/gpumem/gpumem/metal"
)

func commandTests() []test {
	return []test{
		{"its status goes from NotEnqueued to Completed", func(t *testing.T, s *suite) {
			dev := s.open(t)
			b, fill := s.buffer(t, dev, 4), s.pipeline(t, dev, "fill")
			c := s.command(t, s.queue(t, dev, 0))
			if c.Status() != metal.NotEnqueued || c.Err() != nil {
				t.Errorf("a fresh one has status %d, error %v", c.Status(), c.Err())
			}
			record(t, c, fill, metal.Size{X: 1}, whole(b), number(1))
			must(t, c.Commit())
			if got := c.Status(); got == metal.NotEnqueued || got == metal.Failed {
				t.Errorf("a committed one has status %d", got)
			}
			must(t, c.Wait())
			must(t, c.Wait())
			if c.Status() != metal.Completed || c.Err() != nil {
				t.Errorf("a finished one has status %d, error %v", c.Status(), c.Err())
			}
		}},
		{"an empty one completes", func(t *testing.T, s *suite) {
			q := s.queue(t, s.open(t), 0)
			finish(t, s.command(t, q))
			c := s.command(t, q)
			e, err := c.NewEncoder()
			must(t, err)
			must(t, e.End())
			finish(t, c)
		}},
		{"several encoders and dispatches run in order", severalEncoders},
		{"bindings stay until they are changed", bindingsStay},
		{"inline bytes are copied", func(t *testing.T, s *suite) {
			dev := s.open(t)
			b, fill := s.buffer(t, dev, 4), s.pipeline(t, dev, "fill")
			c := s.command(t, s.queue(t, dev, 0))
			v := number(5)
			record(t, c, fill, metal.Size{X: 1}, whole(b), v)
			clear(v.inline)
			finish(t, c)
			if got := floats(t, b, 1)[0]; got != 5 {
				t.Errorf("the kernel saw %v, want 5", got)
			}
		}},
		{"a parameter in a buffer is what was written last", parameterWritten},
		{"a dropped one does not run", func(t *testing.T, s *suite) {
			dev := s.open(t)
			b, fill := s.buffer(t, dev, 4), s.pipeline(t, dev, "fill")
			q := s.queue(t, dev, 0)
			c := s.command(t, q)
			record(t, c, fill, metal.Size{X: 1}, whole(b), number(1))
			finish(t, c)
			dropped := s.command(t, q)
			record(t, dropped, fill, metal.Size{X: 1}, whole(b), number(2))
			must(t, dropped.Release())
			finish(t, s.command(t, q))
			if got := floats(t, b, 1)[0]; got != 1 {
				t.Errorf("a dropped command buffer left %v, want 1", got)
			}
		}},
		{"zero components of a grid count as 1", func(t *testing.T, s *suite) {
			dev := s.open(t)
			b, fill := s.buffer(t, dev, 8), s.pipeline(t, dev, "fill")
			c := s.command(t, s.queue(t, dev, 0))
			record(t, c, fill, metal.Size{X: 2, Y: 0, Z: 0}, whole(b), number(1))
			record(t, c, fill, metal.Size{}, whole(b), number(7))
			finish(t, c)
			if got := floats(t, b, 2); got[0] != 7 || got[1] != 1 {
				t.Errorf("got %v, want [7 1]", got)
			}
		}},
	}
}

func severalEncoders(t *testing.T, s *suite) {
	dev := s.open(t)
	b, affine := s.buffer(t, dev, 4), s.pipeline(t, dev, "affine")
	fill := s.pipeline(t, dev, "fill")
	c := s.command(t, s.queue(t, dev, 0))
	record(t, c, fill, metal.Size{X: 1}, whole(b), number(1))
	e, err := c.NewEncoder()
	must(t, err)
	for _, v := range []float32{3, 5} {
		must(t, dispatch(e, affine, metal.Size{X: 1}, whole(b), whole(b), number(10), number(v)))
	}
	must(t, e.End())
	record(t, c, affine, metal.Size{X: 1}, whole(b), whole(b), number(10), number(7))
	finish(t, c)
	if got := floats(t, b, 1)[0]; got != 1357 {
		t.Errorf("got %v, want 1357", got)
	}
	if got := dev.Usage().TotalDispatches; got != 4 {
		t.Errorf("4 dispatches count as %d", got)
	}
}

// parameterWritten has a kernel write another's dimension, in the same command
// buffer and in one before. What the host wrote there fits no kernel.
func parameterWritten(t *testing.T, s *suite) {
	dev := s.open(t)
	copied, transpose := s.pipeline(t, dev, "copy_inplace"), s.pipeline(t, dev, "mat_transpose")
	source, rows, a, b := s.buffer(t, dev, 4), s.buffer(t, dev, 4), s.buffer(t, dev, 24), s.buffer(t, dev, 24)
	write := func(to metal.Buffer, p []byte) {
		_, err := to.WriteAt(p, 0)
		must(t, err)
	}
	for i := range 6 {
		_, err := a.WriteAt(number(float32(i)).inline, int64(4*i))
		must(t, err)
	}
	q := s.queue(t, dev, 0)
	for _, apart := range []bool{false, true} {
		write(source, integer(2).inline)
		write(rows, integer(-1).inline)
		write(b, make([]byte, 24))
		c := s.command(t, q)
		record(t, c, copied, metal.Size{X: 1}, whole(source), whole(rows))
		if apart {
			must(t, c.Commit())
			c = s.command(t, q)
		}
		record(t, c, transpose, metal.Size{X: 3, Y: 2}, whole(a), whole(b), whole(rows), integer(3))
		record(t, c, transpose, metal.Size{X: 3, Y: 2}, whole(a), whole(b), whole(rows), integer(3))
		finish(t, c)
		want := []float32{0, 3, 1, 4, 2, 5}
		if got := floats(t, b, 6); !slices.Equal(got, want) {
			t.Errorf("written by another command buffer %v: got %v, want %v", apart, got, want)
		}
	}
}

func bindingsStay(t *testing.T, s *suite) {
	dev := s.open(t)
	a, b := s.buffer(t, dev, 4), s.buffer(t, dev, 4)
	fill := s.pipeline(t, dev, "fill")
	c := s.command(t, s.queue(t, dev, 0))
	e, err := c.NewEncoder()
	must(t, err)
	must(t, dispatch(e, fill, metal.Size{X: 1}, whole(a), number(6)))
	e.SetBuffer(0, b, 0)
	must(t, e.Dispatch(metal.Size{X: 1}))
	must(t, e.End())
	finish(t, c)
	if x, y := floats(t, a, 1)[0], floats(t, b, 1)[0]; x != 6 || y != 6 {
		t.Errorf("got %v and %v, want 6 twice", x, y)
	}
}

func retentionTests() []test {
	return []test{
		{"a buffer lives until the last command buffer that uses it has completed",
			func(t *testing.T, s *suite) {
				dev := s.open(t)
				q, fill := s.queue(t, dev, 0), s.pipeline(t, dev, "fill")
				copied, dst := s.pipeline(t, dev, "copy_inplace"), s.buffer(t, dev, 4)
				src, err := dev.NewBuffer(4, "source")
				must(t, err)
				first, second := s.command(t, q), s.command(t, q)
				record(t, first, fill, metal.Size{X: 1}, whole(src), number(8))
				record(t, first, fill, metal.Size{X: 1}, whole(src), number(9))
				record(t, second, copied, metal.Size{X: 1}, whole(src), whole(dst))
				must(t, src.Release())
				_, err = src.ReadAt(make([]byte, 4), 0)
				wants(t, err, metal.ErrReleased)
				buffersAre(t, dev, 2)
				finish(t, first)
				buffersAre(t, dev, 2)
				finish(t, second)
				buffersAre(t, dev, 1)
				if got := floats(t, dst, 1)[0]; got != 9 {
					t.Errorf("the copy is %v, want 9", got)
				}
			}},
		{"a dropped command buffer lets its buffers go", func(t *testing.T, s *suite) {
			dev := s.open(t)
			fill := s.pipeline(t, dev, "fill")
			b, err := dev.NewBuffer(4, "")
			must(t, err)
			c := s.command(t, s.queue(t, dev, 0))
			record(t, c, fill, metal.Size{X: 1}, whole(b), number(1))
			must(t, b.Release())
			buffersAre(t, dev, 1)
			must(t, c.Release())
			buffersAre(t, dev, 0)
		}},
		{"a pipeline and a command buffer may be released before completion", func(t *testing.T, s *suite) {
			dev := s.open(t)
			b, fill := s.buffer(t, dev, 4), s.pipeline(t, dev, "fill")
			q := s.queue(t, dev, 0)
			c := s.command(t, q)
			record(t, c, fill, metal.Size{X: 1}, whole(b), number(4))
			must(t, fill.Release())
			must(t, c.Commit())
			must(t, c.Release())
			must(t, q.Release())
			if got := floats(t, b, 1)[0]; got != 4 {
				t.Errorf("the work left %v, want 4", got)
			}
			if got := dev.Usage().CommandBuffers; got != 0 {
				t.Errorf("%d command buffers are left", got)
			}
		}},
	}
}

func buffersAre(t *testing.T, dev metal.Device, want int64) {
	t.Helper()
	if got := dev.Usage().Buffers; got != want {
		t.Errorf("%d buffers exist, want %d", got, want)
	}
}

// flightLag is how long work of the tests below stays in flight; one that
// sees it there in one of flightTries tries has seen it.
const (
	flightLag   = 20 * time.Millisecond
	flightTries = 50
)

func flightTests() []test {
	return []test{
		{"work is in flight after the commit and not after the wait", func(t *testing.T, s *suite) {
			dev := s.openWith(t, Faults{CompletionLag: flightLag})
			q := s.queue(t, dev, 0)
			for range flightTries {
				c := s.command(t, q)
				must(t, c.Commit())
				seen := dev.Usage().InFlight == 1 && c.Status() != metal.Completed
				must(t, c.Wait())
				if u := dev.Usage(); u.InFlight != 0 || u.CommandBuffers != 0 {
					t.Fatalf("usage after the wait is %+v", u)
				}
				if seen {
					return
				}
			}
			t.Errorf("in %d tries no work was in flight after its commit", flightTries)
		}},
		{"a full queue waits for work in flight", func(t *testing.T, s *suite) {
			dev := s.openWith(t, Faults{CompletionLag: flightLag})
			q := s.queue(t, dev, 2)
			for range 5 {
				c := s.command(t, q)
				must(t, c.Commit())
				if got := dev.Usage().CommandBuffers; got > 2 {
					t.Errorf("%d command buffers in a queue of 2", got)
				}
			}
		}},
	}
}
