package metaltest

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

// bench holds one of everything to misuse.
type bench struct {
	dev     metal.Device
	queue   metal.Queue
	fill    metal.Pipeline // y, v
	buffer  metal.Buffer   // 16 B
	command metal.CommandBuffer
	encoder metal.Encoder // open

	foreignBuffer   metal.Buffer
	foreignPipeline metal.Pipeline
}

func (s *suite) bench(t *testing.T) *bench {
	t.Helper()
	dev, other := s.open(t), s.open(t)
	b := &bench{
		dev: dev, queue: s.queue(t, dev, 0), fill: s.pipeline(t, dev, "fill"), buffer: s.buffer(t, dev, 16),
		foreignBuffer: s.buffer(t, other, 16), foreignPipeline: s.pipeline(t, other, "fill"),
	}
	b.command = s.command(t, b.queue)
	var err error
	b.encoder, err = b.command.NewEncoder()
	must(t, err)
	return b
}

// end closes the encoder.
func (b *bench) end(t *testing.T) *bench {
	t.Helper()
	must(t, b.encoder.End())
	return b
}

// finished has completed its command buffer.
func (b *bench) finished(t *testing.T) *bench {
	t.Helper()
	finish(t, b.end(t).command)
	return b
}

// misuse is one wrong use and the error that it returns.
type misuse struct {
	name string
	want error
	try  func(t *testing.T, b *bench) error
}

func misuseTests() []test {
	var tests []test
	for _, m := range append(commandMisuses(), encoderMisuses()...) {
		tests = append(tests, test{m.name, func(t *testing.T, s *suite) {
			wants(t, m.try(t, s.bench(t)), m.want)
		}})
	}
	return append(tests, test{"a wrong binding is reported once and can be mended", mended},
		test{"a missing argument is named", func(t *testing.T, s *suite) {
			b := s.bench(t)
			err := dispatch(b.encoder, b.fill, metal.Size{X: 1}, whole(b.buffer))
			if err == nil || !strings.Contains(err.Error(), "fill") || !strings.Contains(err.Error(), "(v)") {
				t.Errorf("got error %v, want one that names the kernel fill and its argument (v)", err)
			}
		}})
}

func commandMisuses() []misuse {
	return []misuse{
		{"commit twice", metal.ErrInvalid, func(t *testing.T, b *bench) error {
			return b.finished(t).command.Commit()
		}},
		{"commit with an open encoder", metal.ErrInvalid, func(t *testing.T, b *bench) error {
			return b.command.Commit()
		}},
		{"commit after release", metal.ErrReleased, func(t *testing.T, b *bench) error {
			must(t, b.end(t).command.Release())
			return b.command.Commit()
		}},
		{"release a dropped command buffer twice", metal.ErrReleased, func(t *testing.T, b *bench) error {
			must(t, b.end(t).command.Release())
			return b.command.Release()
		}},
		{"release a finished command buffer twice", metal.ErrReleased, func(t *testing.T, b *bench) error {
			must(t, b.finished(t).command.Release())
			return b.command.Release()
		}},
		{"wait without a commit", metal.ErrInvalid, func(t *testing.T, b *bench) error {
			return b.end(t).command.Wait()
		}},
		{"a second open encoder", metal.ErrInvalid, func(t *testing.T, b *bench) error {
			_, err := b.command.NewEncoder()
			return err
		}},
		{"an encoder after the commit", metal.ErrInvalid, func(t *testing.T, b *bench) error {
			_, err := b.finished(t).command.NewEncoder()
			return err
		}},
		{"an encoder after the release", metal.ErrReleased, func(t *testing.T, b *bench) error {
			must(t, b.end(t).command.Release())
			_, err := b.command.NewEncoder()
			return err
		}},
		{"end an encoder twice", metal.ErrReleased, func(t *testing.T, b *bench) error {
			return b.end(t).encoder.End()
		}},
		{"dispatch after the end", metal.ErrReleased, func(t *testing.T, b *bench) error {
			return dispatch(b.end(t).encoder, b.fill, metal.Size{X: 1}, whole(b.buffer), number(1))
		}},
		{"dispatch after the command buffer's release", metal.ErrReleased,
			func(t *testing.T, b *bench) error {
				must(t, b.command.Release())
				return dispatch(b.encoder, b.fill, metal.Size{X: 1}, whole(b.buffer), number(1))
			}},
		{"release a pipeline twice", metal.ErrReleased, func(t *testing.T, b *bench) error {
			must(t, b.fill.Release())
			return b.fill.Release()
		}},
	}
}

func encoderMisuses() []misuse {
	// with dispatches fill on the bench's buffer after a change of bindings.
	with := func(change func(b *bench)) func(*testing.T, *bench) error {
		return func(_ *testing.T, b *bench) error {
			b.encoder.SetPipeline(b.fill)
			b.encoder.SetBuffer(0, b.buffer, 0)
			b.encoder.SetBytes(1, number(1).inline)
			change(b)
			return b.encoder.Dispatch(metal.Size{X: 1})
		}
	}
	bytes := func(index int, p []byte) func(*testing.T, *bench) error {
		return with(func(b *bench) { b.encoder.SetBytes(index, p) })
	}
	grid := func(g metal.Size) func(*testing.T, *bench) error {
		return func(_ *testing.T, b *bench) error {
			return dispatch(b.encoder, b.fill, g, whole(b.buffer), number(1))
		}
	}
	return []misuse{
		{"no pipeline", metal.ErrInvalid, func(_ *testing.T, b *bench) error {
			return b.encoder.Dispatch(metal.Size{X: 1})
		}},
		{"a nil pipeline", metal.ErrInvalid, with(func(b *bench) { b.encoder.SetPipeline(nil) })},
		{"another device's pipeline", metal.ErrInvalid,
			with(func(b *bench) { b.encoder.SetPipeline(b.foreignPipeline) })},
		{"a released pipeline", metal.ErrReleased, with(func(b *bench) { _ = b.fill.Release() })},
		{"a nil buffer", metal.ErrInvalid, with(func(b *bench) { b.encoder.SetBuffer(0, nil, 0) })},
		{"another device's buffer", metal.ErrInvalid,
			with(func(b *bench) { b.encoder.SetBuffer(0, b.foreignBuffer, 0) })},
		{"a released buffer", metal.ErrReleased, with(func(b *bench) { _ = b.buffer.Release() })},
		{"an offset at the end", metal.ErrInvalid,
			with(func(b *bench) { b.encoder.SetBuffer(0, b.buffer, 16) })},
		{"an offset far away", metal.ErrInvalid,
			with(func(b *bench) { b.encoder.SetBuffer(0, b.buffer, ^uint64(0)) })},
		{"a negative buffer index", metal.ErrInvalid,
			with(func(b *bench) { b.encoder.SetBuffer(-1, b.buffer, 0) })},
		{"a buffer index of 31", metal.ErrInvalid,
			with(func(b *bench) { b.encoder.SetBuffer(31, b.buffer, 0) })},
		{"a negative bytes index", metal.ErrInvalid, bytes(-1, make([]byte, 4))},
		{"a bytes index of 31", metal.ErrInvalid, bytes(31, make([]byte, 4))},
		{"no inline bytes", metal.ErrInvalid, bytes(1, nil)},
		{"more than 4 KiB of inline bytes", metal.ErrInvalid, bytes(1, make([]byte, 4<<10+1))},
		{"inline bytes that the kernel would write", metal.ErrInvalid, bytes(0, make([]byte, 16))},
		{"a negative grid", metal.ErrInvalid, grid(metal.Size{X: -1, Y: 1, Z: 1})},
		{"a grid negative in its depth", metal.ErrInvalid, grid(metal.Size{X: 1, Y: 1, Z: -1})},
	}
}

func mended(t *testing.T, s *suite) {
	b := s.bench(t)
	b.encoder.SetPipeline(b.fill)
	b.encoder.SetBuffer(0, b.foreignBuffer, 0)
	b.encoder.SetBytes(1, nil)
	wants(t, b.encoder.Dispatch(metal.Size{X: 1}), metal.ErrInvalid)
	must(t, dispatch(b.encoder, b.fill, metal.Size{X: 1}, whole(b.buffer), number(2)))
	b.finished(t)
	if got := floats(t, b.buffer, 1)[0]; got != 2 {
		t.Errorf("the mended dispatch left %v, want 2", got)
	}
	if got := b.dev.Usage().TotalDispatches; got != 1 {
		t.Errorf("one dispatch counts as %d", got)
	}
}
