package workloads

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/workloads/tensor"
)

func TestTheLeakTestOfScopesAndReferencesSaysWhatWasFound(t *testing.T) {
	t.Parallel()
	for _, host := range []bool{true, false} {
		for fault, want := range map[string]string{
			"": "LEAK_TEST_OK\n", "uncut-graph": "FAILED: scope depth 0, was 0; 50 references, were 0\n",
		} {
			var out bytes.Buffer
			e := softEnv(t, &out, map[string]string{"leak-test": "yes"})
			if e.Fault = fault; host {
				e.Open = nil
			}
			if err := run(t, "nqueens", e); err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("host %v, fault %q: %v, no %q in\n%s", host, fault, err, want, out.String())
			}
		}
	}
}

// TestMemoryStaysWithinTheLimitsOfTheOriginalsRegressionTests holds the three
// limits: 500 forward passes, the balance of ten iterations, 10,000 assignments.
func TestMemoryStaysWithinTheLimitsOfTheOriginalsRegressionTests(t *testing.T) {
	const mib = 1 << 20
	rt, err := tensor.New(tensor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &board{p: &program{rt: rt, workload: &Workload{}}}
	if b.anti, err = b.p.mask("anti", func(r, c int) int { return r + c }); err != nil {
		t.Fatal(err)
	}
	if b.main, err = b.p.mask("main", func(r, c int) int { return r - c + queens - 1 }); err != nil {
		t.Fatal(err)
	}
	x, err := rt.From("board", make([]float32, queens*queens), queens, queens)
	if err != nil {
		t.Fatal(err)
	}
	b.x = x.Keep()
	forward := func() error {
		_, err := b.loss()
		return err
	}
	assign := func() error { return b.x.Set(make([]float32, queens*queens)) }
	for _, c := range []struct {
		name  string
		times int
		limit int64 // of the growth of the resident size, in bytes
		do    func() error
	}{
		{"the forward pass", 500, 30 * mib, forward}, {"an assignment", 10000, 5 * mib, assign},
	} {
		if err := rt.Scope(c.do); err != nil { // what the first one takes is no growth
			t.Fatal(err)
		}
		before, held := ownRSS(), rt.Stats()
		for range c.times {
			if err := rt.Scope(c.do); err != nil {
				t.Fatal(err)
			}
		}
		if grown := ownRSS() - before; before >= 0 && grown >= c.limit {
			t.Errorf("%s %d times: %d B more, the limit is %d", c.name, c.times, grown, c.limit)
		}
		s := rt.Stats()
		made, given := s.Allocs-held.Allocs, s.Frees-held.Frees
		if made != given || s.Refs != held.Refs {
			t.Errorf("%s %d times: %d made, %d given up, %d references, were %d", c.name, c.times, made, given,
				s.Refs, held.Refs)
		}
	}
}

func TestTheOriginalsSwitchesOfTheCandlePoolAreTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy string
		env    map[string]string
		name   string
		limit  int
	}{
		{"candle", nil, "candle", 50},
		{"candle", map[string]string{"CANDLE_METAL_COMPUTE_PER_BUFFER": "20"}, "candle", 20},
		{"candle", map[string]string{"CANDLE_METAL_COMPUTE_PER_BUFFER": "many"}, "candle", 50},
		{"candle", map[string]string{"TL_METAL_POOL": "1"}, "candle", 50},
		{"candle", map[string]string{"TL_METAL_POOL": "0"}, "none", 0},
		{"", map[string]string{"TL_METAL_POOL": "0", "CANDLE_METAL_COMPUTE_PER_BUFFER": "20"}, "none", 0},
		{"", map[string]string{"CANDLE_METAL_COMPUTE_PER_BUFFER": "20"}, "default", 0},
	} {
		var out bytes.Buffer
		e := softEnv(t, &out, map[string]string{"leak-test": "yes"})
		e.Policy = c.policy
		e.LookupEnv = func(name string) (string, bool) {
			value, ok := c.env[name]
			return value, ok
		}
		if err := run(t, "nqueens", e); err != nil || !strings.Contains(out.String(), "pool "+c.name+":") {
			t.Errorf("%q with %v: %v\n%s", c.policy, c.env, err, out.String())
		}
		w, _ := ByName("nqueens")
		p, err := newProgram(w, e)
		if err != nil {
			t.Fatal(err)
		}
		if o, err := p.options(); err != nil || o.BatchLimit != c.limit {
			t.Errorf("%q with %v: a flush after %d commands, want %d; %v", c.policy, c.env, o.BatchLimit,
				c.limit, err)
		}
	}
}
