package pool_test

import (
	"errors"
	"math"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/pool"
)

func newBatch(t *testing.T, p *pool.Pool, limit int, faults ...pool.Fault) *pool.Batch {
	t.Helper()
	q, err := p.Device().NewQueue(0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := pool.NewBatch(p, q, limit, faults...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func noop(args ...pool.Arg) pool.Command {
	return pool.Command{Name: "noop", Dispatches: []pool.Dispatch{
		{Kernel: "noop", Grid: metal.Size{X: 1}, Args: args},
	}}
}

func encode(t *testing.T, b *pool.Batch, args ...pool.Arg) {
	t.Helper()
	if err := b.Encode(noop(args...)); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheFlushComesBeforeCommand101(t *testing.T) {
	t.Parallel()
	b := newBatch(t, newPool(t, newFake(), named(t, "default"), pool.Options{}), 0)
	for range 100 {
		encode(t, b)
	}
	if s := b.Stats(); s.Pending != 100 || s.CommandBuffers != 0 || s.Flushes != 0 {
		t.Errorf("after 100 commands: %+v", s)
	}
	encode(t, b)
	if s := b.Stats(); s.Pending != 1 || s.CommandBuffers != 1 || s.Flushes != 1 || s.Syncs != 1 ||
		s.InFlight != 0 {
		t.Errorf("after 101 commands: %+v", s)
	}
	must(t, b.Close())
}

func TestACommandCountsOnceAlsoWithTwoDispatches(t *testing.T) {
	t.Parallel()
	b := newBatch(t, newPool(t, newFake(), named(t, "default"), pool.Options{}), 3)
	two := noop()
	two.Dispatches = append(two.Dispatches, two.Dispatches[0])
	for range 3 {
		must(t, b.Encode(two))
	}
	if s := b.Stats(); s.Pending != 3 || s.Commands != 3 || s.Dispatches != 6 || s.Flushes != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestCommitDoesNotWaitAndSyncDoes(t *testing.T) {
	t.Parallel()
	dev := newFake()
	b := newBatch(t, newPool(t, dev, named(t, "default"), pool.Options{}), 0)
	must(t, b.Commit())
	must(t, b.Sync())
	if dev.Usage().TotalCommandBuffers != 0 {
		t.Error("commit or sync without commands made a command buffer")
	}
	encode(t, b)
	encode(t, b)
	must(t, b.Commit())
	if s := b.Stats(); s.Pending != 0 || s.InFlight != 1 || s.CommandBuffers != 1 ||
		dev.Usage().InFlight != 1 {
		t.Errorf("after commit: %+v", s)
	}
	encode(t, b)
	must(t, b.Sync())
	if s := b.Stats(); s.Pending != 0 || s.InFlight != 0 || s.CommandBuffers != 2 || s.MaxInFlight != 2 ||
		dev.Usage().InFlight != 0 {
		t.Errorf("after sync: %+v", s)
	}
	// Committed work alone is waited for as well, without a new command buffer.
	encode(t, b)
	must(t, b.Commit())
	must(t, b.Sync())
	if s := b.Stats(); s.CommandBuffers != 3 || dev.Usage().InFlight != 0 {
		t.Errorf("after commit and sync: %+v", s)
	}
}

func TestNoFlushLetsTheBacklogGrow(t *testing.T) {
	t.Parallel()
	b := newBatch(t, newPool(t, newFake(), named(t, "default"), pool.Options{}), 10, pool.NoFlush)
	for range 1000 {
		encode(t, b)
	}
	if s := b.Stats(); s.Pending != 1000 || s.Flushes != 0 {
		t.Errorf("stats %+v", s)
	}
}

func TestABufferInUseIsPendingUntilItsCommandHasCompleted(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		if policy.EarlyReturn {
			t.Log("returns early: covered by the hazard tests")
			return
		}
		policy.TrimAtRest = false
		dev := newFake()
		p := newPool(t, dev, policy, pool.Options{})
		b := newBatch(t, p, 0)
		h := get(t, p, 100)
		used := h.Buffer()
		encode(t, b, pool.Buf(h), pool.BufAt(h, 4))
		release(t, h, pool.Pending)
		if s := p.Stats(); s.Pending.Count != 1 || s.Live.Count != 0 || s.Idle.Count != 0 {
			t.Errorf("released while encoded: %+v", s)
		}
		checkSums(t, p)
		must(t, b.Commit())
		other := get(t, p, 100)
		if other.Buffer() == used {
			t.Error("a buffer in flight was handed out")
		}
		checkSums(t, p)
		dev.complete(-1)
		b.Stats() // looks at what has completed
		s := p.Stats()
		if s.Pending.Count != 0 || s.Hazards != 0 || s.Outcomes[pool.Pending] != 1 {
			t.Errorf("after completion: %+v", s)
		}
		keeps := policy.MaxIdlePerClass != 0
		if kept := s.Outcomes[pool.Returned] == 1 && s.Idle.Count == 1; kept != keeps {
			t.Errorf("kept %v, want %v: %+v", kept, keeps, s)
		}
		checkSums(t, p)
		if _, err := other.Release(); err != nil {
			t.Fatal(err)
		}
		must(t, b.Close())
		must(t, p.Close())
		if u := dev.Usage(); u.Buffers != 0 || u.Pipelines != 0 {
			t.Errorf("left on the device: %+v", u)
		}
	})
}

func TestAGetSeesCompletionByItself(t *testing.T) {
	t.Parallel()
	dev := newFake()
	p := newPool(t, dev, named(t, "neatml"), pool.Options{})
	b := newBatch(t, p, 0)
	h := get(t, p, 100)
	used := h.Buffer()
	encode(t, b, pool.Buf(h))
	must(t, b.Commit())
	release(t, h, pool.Pending)
	dev.complete(-1)
	if again := get(t, p, 100); again.Buffer() != used {
		t.Error("a completed buffer was not reused")
	}
	if s := p.Stats(); s.Hits != 1 || s.Misses != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestABufferUsedByTwoQueuesWaitsForBoth(t *testing.T) {
	t.Parallel()
	dev := newFake()
	p := newPool(t, dev, named(t, "neatml"), pool.Options{})
	one, two := newBatch(t, p, 0), newBatch(t, p, 0)
	h := get(t, p, 100)
	for range 3 { // back and forth within the same command buffers
		encode(t, one, pool.Buf(h))
		encode(t, two, pool.Buf(h))
	}
	release(t, h, pool.Pending)
	must(t, one.Sync())
	if s := p.Stats(); s.Pending.Count != 1 {
		t.Errorf("after the first queue: %+v", s)
	}
	must(t, two.Sync())
	if s := p.Stats(); s.Pending.Count != 0 || s.Idle.Count != 1 {
		t.Errorf("after both: %+v", s)
	}
}

func TestSyncSweepsUnderCandle(t *testing.T) {
	t.Parallel()
	p := newPool(t, newFake(), named(t, "candle"), pool.Options{})
	b := newBatch(t, p, 0)
	for i := range uint64(4) {
		h := get(t, p, 100<<i)
		encode(t, b, pool.Buf(h))
		release(t, h, pool.Pending)
	}
	must(t, b.Commit())
	if s := p.Stats(); s.Pending.Count != 4 {
		t.Errorf("after commit: %+v", s)
	}
	must(t, b.Sync())
	s := p.Stats()
	if s.Idle.Count != 0 || s.Pending.Count != 0 || s.Evicted.Count != 4 || s.Outcomes[pool.Returned] != 4 {
		t.Errorf("after sync: %+v", s)
	}
	checkSums(t, p)
}

func TestBadCommandsAreRefusedBeforeAnythingIsEncoded(t *testing.T) {
	t.Parallel()
	dev := newFake()
	p := newPool(t, dev, named(t, "neatml"), pool.Options{})
	b := newBatch(t, p, 0)
	h, stale := get(t, p, 100), get(t, p, 100)
	release(t, stale, pool.Returned)
	foreign := get(t, newPool(t, newFake(), named(t, "neatml"), pool.Options{}), 100)
	for name, c := range map[string]struct {
		cmd  pool.Command
		want error
	}{
		"no dispatches":   {pool.Command{Name: "x"}, pool.ErrRequest},
		"empty argument":  {noop(pool.Buf(h), pool.Arg{}), pool.ErrRequest},
		"no handle":       {noop(pool.Buf(pool.Handle{})), pool.ErrNoHandle},
		"stale handle":    {noop(pool.Buf(h), pool.Int(1), pool.Buf(stale)), pool.ErrStale},
		"foreign handle":  {noop(pool.Buf(foreign)), pool.ErrForeign},
		"offset too far":  {noop(pool.BufAt(h, 400)), pool.ErrRequest},
		"offset overflow": {noop(pool.BufAt(h, math.MaxUint64)), pool.ErrRequest},
	} {
		if err := b.Encode(c.cmd); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := b.Stats(); s.Commands != 0 || s.Params != 0 || dev.Usage().TotalCommandBuffers != 0 {
		t.Errorf("something was encoded: %+v", s)
	}
	unknown := noop()
	unknown.Dispatches[0].Kernel = "nope"
	if err := b.Encode(unknown); !errors.Is(err, metal.ErrInvalid) {
		t.Errorf("unknown kernel: %v", err)
	}
	if _, err := pool.NewBatch(p, nil, 0); !errors.Is(err, pool.ErrRequest) {
		t.Errorf("no queue: %v", err)
	}
	q, _ := dev.NewQueue(0)
	if _, err := pool.NewBatch(p, q, 0, "rain"); !errors.Is(err, pool.ErrRequest) {
		t.Errorf("unknown fault: %v", err)
	}
	must(t, b.Close())
	if err := b.Encode(noop()); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("encode after close: %v", err)
	}
	must(t, b.Close())
}

func TestAFailedCommandBufferIsReportedAtTheNextSync(t *testing.T) {
	t.Parallel()
	dev := newFake()
	p := newPool(t, dev, named(t, "neatml"), pool.Options{})
	b := newBatch(t, p, 0)
	h := get(t, p, 100)
	bad := noop(pool.Buf(h))
	bad.Dispatches[0].Grid.X = -1
	must(t, b.Encode(bad))
	release(t, h, pool.Pending)
	must(t, b.Commit())
	dev.complete(-1)
	if s := b.Stats(); s.Failed != 1 || s.InFlight != 0 {
		t.Errorf("stats %+v", s)
	}
	if s := p.Stats(); s.Idle.Count != 1 || s.Pending.Count != 0 {
		t.Errorf("a failed command still holds its buffer: %+v", s)
	}
	if err := b.Sync(); !errors.Is(err, metal.ErrInvalid) {
		t.Errorf("sync: %v", err)
	}
	if err := b.Sync(); err != nil {
		t.Errorf("the error was reported twice: %v", err)
	}
}
