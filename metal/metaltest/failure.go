package metaltest

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

// failure is a dispatch that can only fail when it runs.
type failure struct {
	name   string
	kernel string
	grid   metal.Size
	args   func(small, large metal.Buffer) []arg // of 16 B and 64 B
	says   []string                              // in the error, besides the kernel
}

func failures() []failure {
	return []failure{
		{"a short input", "add", metal.Size{X: 5}, func(small, large metal.Buffer) []arg {
			return []arg{whole(large), whole(small), whole(large)}
		}, []string{"(b)", "20 B", "16 B"}},
		{"a short output", "add", metal.Size{X: 16}, func(small, large metal.Buffer) []arg {
			return []arg{whole(large), whole(large), whole(small)}
		}, []string{"(c)", "64 B"}},
		{"an offset that leaves too little", "fill", metal.Size{X: 4}, func(small, _ metal.Buffer) []arg {
			return []arg{{buffer: small, offset: 4}, number(1)}
		}, []string{"(y)", "16 B", "12 B"}},
		{"a grid beyond all memory", "fill", metal.Size{X: 1 << 40}, func(small, _ metal.Buffer) []arg {
			return []arg{whole(small), number(1)}
		}, []string{"(y)", "4398046511104 B"}},
		{"dimensions beyond all memory", "matmul", metal.Size{X: 1, Y: 1},
			func(small, large metal.Buffer) []arg {
				big := integer(1<<31 - 1)
				return []arg{whole(large), whole(large), whole(small), big, big, big}
			}, []string{"(a)"}},
		{"a parameter of two bytes", "fill", metal.Size{X: 1}, func(small, _ metal.Buffer) []arg {
			return []arg{whole(small), {inline: []byte{1, 2}}}
		}, []string{"(v)", "4 B", "2 B"}},
		{"a parameter buffer bound too near its end", "fill", metal.Size{X: 1},
			func(small, large metal.Buffer) []arg {
				return []arg{whole(small), {buffer: large, offset: 61}}
			}, []string{"(v)", "4 B", "3 B"}},
		{"a negative dimension", "mat_transpose", metal.Size{X: 1, Y: 1},
			func(small, large metal.Buffer) []arg {
				return []arg{whole(large), whole(small), integer(-1), integer(1)}
			}, []string{"(rows)", "-1"}},
		{"an unknown activation", "linear_fwd", metal.Size{X: 1, Y: 1},
			func(small, large metal.Buffer) []arg {
				one := integer(1)
				return []arg{whole(large), whole(large), whole(large), whole(small), one,
					one, one, integer(4)}
			}, []string{"(act)", "4"}},
		{"a misaligned offset", "fill", metal.Size{X: 1}, func(small, _ metal.Buffer) []arg {
			return []arg{{buffer: small, offset: 2}, number(1)}
		}, []string{"(y)"}},
	}
}

func failureTests() []test {
	var tests []test
	for _, f := range failures() {
		tests = append(tests, test{f.name, func(t *testing.T, s *suite) { f.run(t, s) }})
	}
	return append(tests,
		test{"what follows in the command buffer does not run, what follows in the queue does", endsOne})
}

// run checks that the dispatch fails, says why, and writes nothing.
func (f failure) run(t *testing.T, s *suite) {
	dev := s.open(t)
	small, large := s.buffer(t, dev, 16), s.buffer(t, dev, 64)
	before := strings.Repeat("\x3f", 16)
	if _, err := small.WriteAt([]byte(before), 0); err != nil {
		t.Fatal(err)
	}
	c := s.command(t, s.queue(t, dev, 0))
	record(t, c, s.pipeline(t, dev, f.kernel), f.grid, f.args(small, large)...)
	must(t, c.Commit())
	err := c.Wait()
	wants(t, err, metal.ErrInvalid)
	if c.Status() != metal.Failed || !errors.Is(c.Err(), metal.ErrInvalid) {
		t.Errorf("status %d, error %v; want %d and the error of Wait", c.Status(), c.Err(), metal.Failed)
	}
	for _, word := range append(f.says, f.kernel) {
		if err != nil && !strings.Contains(err.Error(), word) {
			t.Errorf("the error %q does not say %q", err, word)
		}
	}
	after := make([]byte, 16)
	if _, err := small.ReadAt(after, 0); err != nil || string(after) != before {
		t.Errorf("the failed dispatch wrote %x, %v", after, err)
	}
}

func endsOne(t *testing.T, s *suite) {
	dev := s.open(t)
	b, fill := s.buffer(t, dev, 4), s.pipeline(t, dev, "fill")
	held, err := dev.NewBuffer(4, "held by the failed one")
	must(t, err)
	q := s.queue(t, dev, 0)
	bad, good := s.command(t, q), s.command(t, q)
	record(t, bad, fill, metal.Size{X: 1}, whole(b), number(1))
	record(t, bad, fill, metal.Size{X: 9}, whole(held), number(1))
	record(t, bad, fill, metal.Size{X: 1}, whole(b), number(2))
	record(t, good, s.pipeline(t, dev, "affine"), metal.Size{X: 1}, whole(b), whole(b), number(10), number(5))
	must(t, held.Release())
	must(t, bad.Commit())
	must(t, good.Commit())
	must(t, good.Wait())
	wants(t, bad.Wait(), metal.ErrInvalid)
	if got := floats(t, b, 1)[0]; got != 15 {
		t.Errorf("got %v, want 15", got)
	}
	buffersAre(t, dev, 1)
}
