package pool_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/pool"
)

// notes is an observer that writes down what matters of each event.
type notes struct {
	lines  []string
	events []pool.Event
}

func (n *notes) Observe(e pool.Event) {
	delta := (e.After.AllocatedBytes - e.Before.AllocatedBytes) / fakePage
	var s string
	switch e.Kind {
	case pool.EventGet:
		s = fmt.Sprintf("get %v hit=%v", e.Class, e.Hit)
	case pool.EventRelease:
		s = fmt.Sprintf("release %v refs=%d %v", e.Class, e.Refs, e.Outcome)
	case pool.EventSettle:
		s = fmt.Sprintf("settle %v %v", e.Class, e.Outcome)
	case pool.EventEvict:
		s = fmt.Sprintf("evict %v", e.Class)
	case pool.EventPurge:
		s = fmt.Sprintf("%s %d", e.Receipt.Action, e.Receipt.Buffers)
	case pool.EventHazard:
		s = fmt.Sprintf("hazard %d uses", e.Hazard.Uses)
	}
	n.lines = append(n.lines, fmt.Sprintf("%s %+d", s, delta))
	n.events = append(n.events, e)
}

func (n *notes) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(n.lines, want) {
		t.Errorf("observed\n%q\nwant\n%q", n.lines, want)
	}
	n.lines, n.events = nil, nil
}

func TestTheObserverIsToldTheRealOutcomes(t *testing.T) {
	t.Parallel()
	n := &notes{}
	p := newPool(t, newFake(), named(t, "tensorlogic").WithCap(1), pool.Options{Observer: n})
	a, b := get(t, p, 2000), get(t, p, 2000)
	n.expect(t, "get 2048 x 4 B hit=false +1", "get 2048 x 4 B hit=false +1")
	c, err := a.Retain()
	must(t, err)
	release(t, c, pool.Shared)
	release(t, a, pool.Returned)
	e := n.events[1]
	if e.Label != "tensor" || e.RequestedBytes != 8000 || !e.Pooled || e.Class.Bytes != 8192 {
		t.Errorf("event %+v", e)
	}
	release(t, b, pool.CapFull)
	n.expect(t,
		"release 2048 x 4 B refs=2 shared +0",
		"release 2048 x 4 B refs=1 returned +0",
		"release 2048 x 4 B refs=1 cap full -1")
	w, err := p.Get(pool.Request{Elements: 10, ElementSize: 4, Unpooled: true})
	must(t, err)
	release(t, w, pool.NotPooled)
	if n.events[0].Pooled || n.events[1].Pooled {
		t.Error("an unpooled buffer is called pooled")
	}
	n.expect(t, "get 40 B unpooled hit=false +1", "release 40 B unpooled refs=1 not pooled -1")
	if _, err := b.Release(); err == nil {
		t.Error("double release")
	}
	n.expect(t) // what did not happen is not told
	p.Purge()
	n.expect(t, "purge 1 -1")
}

func TestTheObserverSeesPendingSettleAndHazard(t *testing.T) {
	t.Parallel()
	n := &notes{}
	p := newPool(t, newFake(), named(t, "neatml"), pool.Options{Observer: n})
	b := newBatch(t, p, 0)
	h := get(t, p, 1)
	encode(t, b, pool.Buf(h))
	release(t, h, pool.Pending)
	must(t, b.Sync())
	n.expect(t, "get 4 B hit=false +1", "release 4 B refs=1 pending +0", "settle 4 B returned +0")

	n = &notes{}
	p = newPool(t, newFake(), named(t, "neatml-early"), pool.Options{Observer: n})
	b = newBatch(t, p, 0)
	encode(t, b, pool.Int(1))
	encode(t, b, pool.Int(2))
	must(t, b.Sync())
	n.expect(t,
		"get 4 B int hit=false +1", "release 4 B int refs=1 returned +0",
		"get 4 B int hit=true +0", "hazard 1 uses +0", "release 4 B int refs=1 returned +0")
	must(t, b.Cleanup())
	n.expect(t, "cleanup 1 -1")
}

func TestTheObserverSeesEvictionsAndTheRest(t *testing.T) {
	t.Parallel()
	n := &notes{}
	policy := pool.Policy{Name: "small", Class: pool.ClassPages, MaxIdlePerClass: -1,
		MaxIdleBytes: 2 * fakePage}
	p := newPool(t, newFake(), policy, pool.Options{Observer: n})
	a, b := get(t, p, 1), get(t, p, 2*fakePage/4)
	release(t, a, pool.Returned)
	release(t, b, pool.Returned)
	n.expect(t,
		"get 16384 B hit=false +1", "get 32768 B hit=false +2",
		"release 16384 B refs=1 returned +0",
		"evict 16384 B -1", "release 32768 B refs=1 returned -1")

	n = &notes{}
	p = newPool(t, newFake(), named(t, "default"), pool.Options{Observer: n})
	release(t, get(t, p, 100*fakePage/4), pool.Returned)
	n.expect(t, "get 1703936 B hit=false +104", "rest 1 -104", "release 1703936 B refs=1 returned -104")
}

func TestAnObservedGetDoesNotDisturbTheOutcome(t *testing.T) {
	t.Parallel()
	eachPolicy(t, func(t *testing.T, policy pool.Policy) {
		plain := newPool(t, newFake(), policy, pool.Options{})
		watched := newPool(t, newFake(), policy, pool.Options{Observer: &notes{}, Sites: true})
		for _, p := range []*pool.Pool{plain, watched} {
			b := newBatch(t, p, 3)
			for i := range uint64(50) {
				h := get(t, p, 1+i*i*100)
				encode(t, b, pool.Buf(h), pool.Int(1))
				if _, err := h.Release(); err != nil {
					t.Fatal(err)
				}
			}
			must(t, b.Close())
		}
		if a, b := plain.Stats(), watched.Stats(); a != b {
			t.Errorf("plain %+v\nwatched %+v", a, b)
		}
	})
}
