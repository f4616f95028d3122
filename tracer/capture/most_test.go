package capture

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// lived is a process that applied events and was looked at after each.
func lived(events ...event) *process {
	p := &process{ledger: newLedger()}
	for i := range events {
		p.ledger.apply(&events[i])
		noteMost(p)
	}
	return p
}

func noteMost(p *process) {
	for c := classDevice; c < classCount; c++ {
		p.noteMost(c)
	}
}

// many are so many events of a kind, of things with different numbers.
func many(n int, e event) []event {
	out := make([]event, n)
	for i := range out {
		out[i] = e
		out[i].ptr += uint64(i)
	}
	return out
}

func TestWhatAFunctionHeldIsToldWithItsSitesWhenItIsGone(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	graphs := many(100, event{kind: kindGraph, ptr: 0x100, frames: stack{1}})
	undone := many(100, event{kind: kindGraphDestroy, ptr: 0x100})
	events := many(3, event{kind: kindEvent, ptr: 0x900, frames: stack{2}})
	memory := []event{{kind: kindAlloc, ptr: 0x1000, size: 8 * mib, frames: stack{3}}}
	freed := []event{{kind: kindFree, ptr: 0x1000}}
	for _, c := range []struct {
		name   string
		events []event
		final  bool // it was asked for when all events but the last were there
		want   []record.Site
	}{
		{"kept", slices.Concat(graphs, events), false,
			[]record.Site{{Site: "0x1 [graph]", Count: 100}, {Site: "0x2 [event]", Count: 3}}},
		{"given back", slices.Concat(graphs, events, undone), false,
			[]record.Site{{Site: "0x1 [graph] (gone at the end)", Count: 86},
				{Site: "0x2 [event]", Count: 3}}},
		{"more than half kept", slices.Concat(graphs, undone[:40]),
			false, []record.Site{{Site: "0x1 [graph]", Count: 60}}},
		{"memory given back", slices.Concat(memory, freed), false,
			[]record.Site{{Site: "0x3 (gone at the end)", Bytes: 8 * mib, Count: 1}}},
		{"few handles", slices.Concat(events, many(3, event{kind: kindEventDestroy, ptr: 0x900})),
			false, nil},
		{"while it ends", slices.Concat(graphs, undone), true,
			[]record.Site{{Site: "0x1 [graph]", Count: 100}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var p *process
			if c.final {
				p = lived(c.events[:100]...)
				p.final = p.ledger.held()
				for i := range c.events[100:] {
					p.ledger.apply(&c.events[100+i])
					noteMost(p)
				}
			} else {
				p = lived(c.events...)
			}
			if got := p.sites(); !slices.Equal(got, c.want) {
				t.Errorf("sites %+v, want %+v", got, c.want)
			}
		})
	}
}

// The walk over all that is held is made when there is a quarter more, not at
// each look.
func TestLookingForTheMostIsRare(t *testing.T) {
	t.Parallel()
	p := &process{ledger: newLedger()}
	seen := map[string]bool{}
	const handles = 10_000
	for i := range handles {
		p.ledger.apply(&event{kind: kindEvent, ptr: uint64(i) + 1})
		noteMost(p)
		seen[fmt.Sprint(p.most[classEvent].amount)] = true
	}
	if len(seen) > 40 || p.most[classEvent].amount < handles*4/5-1 {
		t.Errorf("%d looks, the last at %d of %d handles", len(seen), p.most[classEvent].amount, handles)
	}
}

// Nobody sees it between two looks, but what a pool then keeps idle is its doing.
func TestStreamOrderedMemoryThatIsGivenBackBeforeALookHasItsSite(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	r := openRingOf(t, ringOf(64,
		event{kind: kindAsync, ptr: 0x1000, size: 2 * mib, frames: stack{1}},
		event{kind: kindFreeAsync, ptr: 0x1000},
		event{kind: kindAsync, ptr: 0x1000, size: 64 * mib, frames: stack{2}},
		event{kind: kindFreeAsync, ptr: 0x1000}))
	if err := r.Poll(); err != nil {
		t.Fatal(err)
	}
	want := []record.Site{{Site: "0x2 [stream-ordered memory] (gone at the end)", Bytes: 64 * mib, Count: 1}}
	if got := r.Sites(nobodysPID); !slices.Equal(got, want) {
		t.Errorf("sites %+v, want %+v", got, want)
	}
}
