package metaltest

import (
	"testing"

	"github.com/gpumem/gpumem/metal"
)

func scopeTests() []test {
	return []test{
		{"a scope runs its function once, at once", func(t *testing.T, s *suite) {
			dev := s.open(t)
			runs := 0
			dev.Autorelease(func() {
				dev.Autorelease(func() { runs++ })
				runs *= 10
			})
			if runs != 10 {
				t.Errorf("got %d, want 10", runs)
			}
		}},
		{"a panic passes through", func(t *testing.T, s *suite) {
			dev := s.open(t)
			if got := panics(
				func() { dev.Autorelease(func() { panic("on purpose") }) }); got != "on purpose" {
				t.Errorf("recovered %v", got)
			}
			dev.Autorelease(func() {}) // the next one works
		}},
		{"what was made inside outlives it", func(t *testing.T, s *suite) {
			dev := s.open(t)
			q, fill := s.queue(t, dev, 0), s.pipeline(t, dev, "fill")
			var b metal.Buffer
			var c metal.CommandBuffer
			dev.Autorelease(func() {
				b, c = s.buffer(t, dev, 4), s.command(t, q)
				record(t, c, fill, metal.Size{X: 1}, whole(b), number(3))
			})
			dev.Autorelease(func() { must(t, c.Commit()) })
			must(t, c.Wait())
			if got := floats(t, b, 1)[0]; got != 3 {
				t.Errorf("got %v, want 3", got)
			}
		}},
	}
}

// panics is what f panics with.
func panics(f func()) (recovered any) {
	defer func() { recovered = recover() }()
	f()
	return nil
}

// temporaries counts the temporaries of a device and makes some.
type temporaries struct {
	t     *testing.T
	dev   metal.Device
	queue metal.Queue
	told  func(metal.Device) int64
}

func (s *suite) temporaries(t *testing.T, f Faults) *temporaries {
	dev := s.openWith(t, f)
	x := &temporaries{t: t, dev: dev, queue: s.queue(t, dev, 0), told: s.can.Temporaries}
	x.launch() // what a driver makes once
	return x
}

func (x *temporaries) bytes() int64 { return x.told(x.dev) }

// launch runs an encoder in a command buffer and says what that left.
func (x *temporaries) launch() int64 {
	x.t.Helper()
	before := x.bytes()
	c, err := x.queue.NewCommandBuffer()
	must(x.t, err)
	e, err := c.NewEncoder()
	must(x.t, err)
	must(x.t, e.End())
	finish(x.t, c)
	must(x.t, c.Release())
	left := x.bytes() - before
	if left <= 0 {
		x.t.Errorf("a launch left %d B of temporaries", left)
	}
	return left
}

// stays fails unless the temporaries are want bytes.
func (x *temporaries) stays(want int64, when string) {
	x.t.Helper()
	if got := x.bytes(); got != want {
		x.t.Errorf("%s %d B of temporaries are left, want %d", when, got, want)
	}
}

func temporaryTests() []test {
	return []test{
		{"outside every scope they stay", func(t *testing.T, s *suite) {
			x := s.temporaries(t, Faults{})
			want := x.bytes()
			for range 100 {
				want += x.launch()
			}
			x.stays(want, "after 100 launches")
		}},
		{"a scope frees its own, also by a panic", func(t *testing.T, s *suite) {
			x := s.temporaries(t, Faults{})
			before := x.bytes()
			x.dev.Autorelease(func() { x.launch() })
			x.stays(before, "after a scope")
			panics(func() { x.dev.Autorelease(func() { x.launch(); panic("on purpose") }) })
			x.stays(before, "after a panic")
		}},
		{"a nested scope frees its own and not its parent's", func(t *testing.T, s *suite) {
			x := s.temporaries(t, Faults{})
			before := x.bytes()
			x.dev.Autorelease(func() {
				mine := before + x.launch()
				x.dev.Autorelease(func() { x.launch(); x.launch() })
				x.stays(mine, "after the inner scope")
				mine += x.launch()
				x.stays(mine, "after another launch")
			})
			x.stays(before, "after the outer scope")
		}},
		{"many of one scope are all freed", func(t *testing.T, s *suite) {
			x := s.temporaries(t, Faults{})
			before := x.bytes()
			for range 3 {
				x.dev.Autorelease(func() {
					for range 500 {
						x.launch()
					}
				})
				x.stays(before, "after 500 launches in a scope")
			}
		}},
		{"overlapping scopes of two goroutines free all", overlap},
		{"without autorelease a scope frees nothing", func(t *testing.T, s *suite) {
			if !s.can.Faults {
				t.Log("not tested: the driver declares no ability Faults")
				return
			}
			x := s.temporaries(t, Faults{NoAutorelease: true})
			want := x.bytes()
			x.dev.Autorelease(func() { want += x.launch() })
			x.stays(want, "after a scope")
		}},
	}
}

// overlap: the first scope ends inside the second.
func overlap(t *testing.T, s *suite) {
	x := s.temporaries(t, Faults{})
	before := x.bytes()
	second, firstEnded, done := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		<-second
		x.dev.Autorelease(func() {
			x.launchHere()
			second <- true
			<-firstEnded
			x.launchHere()
		})
	}()
	x.dev.Autorelease(func() {
		x.launchHere()
		second <- true
		<-second
		x.launchHere()
	})
	firstEnded <- true
	<-done
	x.stays(before, "after both scopes")
}

// launchHere is launch for any goroutine: it never ends the test, and others
// may launch meanwhile.
func (x *temporaries) launchHere() {
	c, err := x.queue.NewCommandBuffer()
	if err != nil {
		x.t.Error(err)
		return
	}
	e, err := c.NewEncoder()
	if err != nil {
		x.t.Error(err)
		return
	}
	for _, step := range []func() error{e.End, c.Commit, c.Wait, c.Release} {
		if err := step(); err != nil {
			x.t.Error(err)
		}
	}
}
