package pool_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/pool"
)

func TestParametersAreInlineWithoutAParameterPool(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "default"), pool.Options{})
	b := newBatch(t, p, 0)
	encode(t, b, pool.Int(1), pool.Float(2))
	if s := p.Stats(); s.Allocs != 0 {
		t.Errorf("parameters took %d buffers", s.Allocs)
	}
	if s := b.Stats(); s.Params != 2 || s.ParamBuffers != 0 {
		t.Errorf("stats %+v", s)
	}
}

// step encodes the parameter load of one optimiser step: the counts of the
// investigation's linear layers and Adam.
func step(t *testing.T, b *pool.Batch) {
	t.Helper()
	ints := []pool.Arg{pool.Int(1), pool.Int(2), pool.Int(3), pool.Int(4)}
	var floats []pool.Arg
	for i := range 7 {
		floats = append(floats, pool.Float(float32(i)))
	}
	encode(t, b, ints...)   // linear_fwd
	encode(t, b, ints...)   // linear_bwd
	encode(t, b, floats...) // adam_step
}

func TestEarlyReturnNeedsFourIntsAndSevenFloats(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "neatml-early"), pool.Options{})
	b := newBatch(t, p, 0)
	for range 33 {
		step(t, b)
	}
	if s := p.Stats(); s.Allocs != 11 || s.Idle.Count != 11 {
		t.Errorf("stats %+v", s)
	}
	if s := p.Stats(); s.Hazards == 0 {
		t.Error("no hazard was noticed")
	}
}

func TestDeferredReturnNeedsManyAndKeepsFifty(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "neatml"), pool.Options{})
	b := newBatch(t, p, 0)
	for range 33 { // 99 commands: no flush yet
		step(t, b)
	}
	if s := p.Stats(); s.Allocs != 33*15 || s.Pending.Count != 33*15 || s.Hits != 0 {
		t.Errorf("before the sync: %+v", s)
	}
	must(t, b.Sync())
	s := p.Stats()
	if s.Idle.Count != 100 || s.Pending.Count != 0 || s.Hazards != 0 {
		t.Errorf("after the sync: %+v", s)
	}
	if s.Outcomes[pool.Returned] != 100 || s.Outcomes[pool.CapFull] != 33*15-100 {
		t.Errorf("outcomes %v", s.Outcomes)
	}
	checkSums(t, p)
	must(t, b.Cleanup())
	if s := p.Stats(); s.Idle.Count != 0 || b.Stats().Pending != 0 || p.Device().Usage().Pipelines != 1 {
		t.Errorf("after the cleanup: %+v", s)
	}
	checkSums(t, p)
}

func TestFreshParametersGrowWithTheCommands(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		p := newPool(t, newFake(), policy, pool.Options{Sites: true})
		b := newBatch(t, p, 0, pool.FreshParams)
		for range 10 {
			step(t, b)
		}
		must(t, b.Sync())
		s := p.Stats()
		if s.Live.Count != 150 || s.Live.Bytes != 600 || s.Live.PageBytes != 150*fakePage || s.Hazards != 0 {
			t.Errorf("stats %+v", s)
		}
		if v := p.Survivors(); len(v) != 2 || v[0].Count != 80 || v[1].Count != 70 {
			t.Errorf("survivors %+v", v)
		}
	})
}

func TestEarlyReturnComputesWithWrongValuesAndSaysSo(t *testing.T) {
	t.Parallel()
	want := []uint32{10, 20, 30}
	for _, c := range []struct {
		policy string
		right  bool
	}{{"neatml", true}, {"neatml-early", false}} {
		dev := newFake()
		p := newPool(t, dev, named(t, c.policy), pool.Options{})
		b := newBatch(t, p, 0)
		for _, v := range want {
			encode(t, b, pool.Int(int32(v)))
		}
		must(t, b.Sync())
		if right := slices.Equal(dev.executed, want); right != c.right {
			t.Errorf("%s: the device read %v", c.policy, dev.executed)
		}
		hazards := p.Hazards()
		if got := p.Stats().Hazards; (got == 0) != c.right || int(got) != len(hazards) {
			t.Errorf("%s: %d hazards, %+v", c.policy, got, hazards)
		}
		for _, h := range hazards {
			if h.Uses != 1 || h.Bytes != 4 || h.PreviousLabel != "int parameter" {
				t.Errorf("%s: %+v", c.policy, h)
			}
		}
	}
}

func TestParameterBuffersAreReusedOldestFirst(t *testing.T) {
	t.Parallel()
	dev := newFake()
	b := newBatch(t, newPool(t, dev, named(t, "neatml-early"), pool.Options{}), 0)
	encode(t, b, pool.Int(1), pool.Int(2))
	encode(t, b, pool.Int(99)) // overwrites the first parameter, not the second
	must(t, b.Sync())
	if want := []uint32{99, 2, 99}; !slices.Equal(dev.executed, want) {
		t.Errorf("the device read %v, want %v", dev.executed, want)
	}
}

func TestReuseBeforeCompletionIsAHazardOnlyUnderEarlyReturn(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		policy.TrimAtRest = false
		dev := newFake()
		p := newPool(t, dev, policy, pool.Options{})
		b := newBatch(t, p, 0)
		for range 20 {
			h := get(t, p, 100)
			encode(t, b, pool.Buf(h), pool.Int(7))
			if _, err := h.Release(); err != nil {
				t.Fatal(err)
			}
		}
		must(t, b.Sync())
		s := p.Stats()
		if (s.Hazards > 0) != policy.EarlyReturn {
			t.Errorf("%d hazards", s.Hazards)
		}
		checkSums(t, p)
		release2 := get(t, p, 100) // everything has completed: reuse is right
		if got := p.Stats().Hazards; got != s.Hazards {
			t.Error("a reuse after completion was called a hazard")
		}
		if _, err := release2.Release(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPurgeDefersBuffersThatCommandsStillUse(t *testing.T) {
	t.Parallel()
	dev := newFake()
	p := newPool(t, dev, named(t, "neatml-early"), pool.Options{})
	b := newBatch(t, p, 0)
	h := get(t, p, 100)
	encode(t, b, pool.Buf(h))
	must(t, b.Commit())
	release(t, h, pool.Returned)
	r := p.Purge()
	if r.Buffers != 0 || r.Deferred != 1 || dev.emptied != 0 {
		t.Errorf("receipt %+v, %d emptied", r, dev.emptied)
	}
	if s := p.Stats(); s.Pending.Count != 1 || s.Idle.Count != 0 {
		t.Errorf("stats %+v", s)
	}
	checkSums(t, p)
	must(t, b.Sync())
	if s := p.Stats(); s.Reserved().Count != 0 {
		t.Errorf("stats %+v", s)
	}
	checkSums(t, p)
}

func TestAnEarlyReturnThatIsRefusedStaysPending(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "neatml-early").WithCap(1), pool.Options{})
	b := newBatch(t, p, 0)
	one, two := get(t, p, 100), get(t, p, 100)
	encode(t, b, pool.Buf(one), pool.Buf(two))
	release(t, one, pool.Returned)
	release(t, two, pool.Pending)
	checkSums(t, p)
	must(t, b.Sync())
	if s := p.Stats(); s.Outcomes[pool.CapFull] != 1 || s.Pending.Count != 0 || s.Idle.Count != 1 {
		t.Errorf("stats %+v", s)
	}
	checkSums(t, p)
}

// twice is a command of two dispatches, of which the second takes the parameters of the
// first again.
func twice(params ...pool.Arg) pool.Command {
	c := noop()
	c.Dispatches = append(c.Dispatches, c.Dispatches[0])
	c.Dispatches[0].Args = params
	c.Dispatches[1].Args = nil
	for i := range params {
		c.Dispatches[1].Args = append(c.Dispatches[1].Args, pool.Same(i))
	}
	return c
}

func TestTheDispatchesOfACommandShareItsParameters(t *testing.T) {
	t.Parallel()
	for policy, buffers := range map[string]uint64{"neatml": 4, "neatml-early": 4, "default": 0} {
		p := newPool(t, newFake(), named(t, policy), pool.Options{})
		b := newBatch(t, p, 0)
		must(t, b.Encode(twice(pool.Int(1), pool.Int(2), pool.Int(3), pool.Float(4))))
		if s := b.Stats(); s.Params != 4 || s.ParamBuffers != buffers || s.Dispatches != 2 {
			t.Errorf("%s: %+v", policy, s)
		}
		if s := p.Stats(); s.Allocs != buffers || s.Hazards != 0 {
			t.Errorf("%s: %+v", policy, s)
		}
		bad := twice(pool.Int(1))
		bad.Dispatches[1].Args = append(bad.Dispatches[1].Args, pool.Same(1))
		if err := b.Encode(bad); !errors.Is(err, pool.ErrRequest) {
			t.Errorf("%s: a parameter that no dispatch has: %v", policy, err)
		}
		must(t, b.Sync())
	}
}
