package capture

import (
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// A model is loaded at the start, a cache grows all the time, and scratch comes and goes.
func TestASiteGrowsByWhatItHoldsMoreThanEarlier(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	start := time.Now()
	p := &process{ledger: newLedger()}
	apply := func(e event) { p.ledger.apply(&e) }
	apply(event{kind: kindAlloc, ptr: 1, size: 900 * mib, frames: stack{1}})
	address := uint64(100)
	for second := range 45 {
		for range 2 {
			address++
			apply(event{kind: kindAlloc, ptr: address, size: mib, frames: stack{2}})
		}
		apply(event{kind: kindAlloc, ptr: 2, size: 64 * mib, frames: stack{3}})
		p.history.note(p.ledger, start.Add(time.Duration(second)*time.Second))
		if second < 44 {
			apply(event{kind: kindFree, ptr: 2})
		}
	}
	grown := map[string]record.Site{}
	for _, s := range p.sites() {
		grown[s.Site] = s
	}
	if s := grown["0x1"]; s.Bytes != 900*mib || s.GrowthBytes != 0 {
		t.Errorf("the model: %+v", s)
	}
	if s := grown["0x3"]; s.Bytes != 64*mib || s.GrowthBytes != 0 {
		t.Errorf("scratch: %+v", s)
	}
	// From a look between a third and a half of the time on.
	if s := grown["0x2"]; s.Bytes != 90*mib || s.GrowthBytes < 44*mib || s.GrowthBytes > 60*mib {
		t.Errorf("the cache: %+v", s)
	}
}

func TestWithoutAnEarlierLookNoGrowthIsTold(t *testing.T) {
	t.Parallel()
	start := time.Now()
	p := &process{ledger: newLedger()}
	p.history.note(p.ledger, start) // before the first call
	p.ledger.apply(&event{kind: kindAlloc, ptr: 1, size: 1 << 20, frames: stack{1}})
	for _, after := range []time.Duration{0, time.Second, 3 * time.Second} {
		p.history.note(p.ledger, start.Add(after))
	}
	if got := p.sites(); len(got) != 1 || got[0].GrowthBytes != 0 || got[0].Bytes != 1<<20 {
		t.Errorf("%+v", got)
	}
}

func TestEachLookTellsWhatWasHeldThen(t *testing.T) {
	t.Parallel()
	start := time.Now()
	p := &process{ledger: newLedger()}
	for second := range 60 {
		p.ledger.apply(&event{kind: kindAlloc, ptr: uint64(1 + second), size: 1 << 20, frames: stack{2}})
		for small := range 2 * mostTold {
			at := uint64(1000 + 100*second + small)
			p.ledger.apply(&event{kind: kindAlloc, ptr: at, size: 1, frames: stack{uint64(10 + small)}})
		}
		p.history.note(p.ledger, start.Add(time.Duration(second)*time.Second))
	}
	for range 2 { // asked twice, it says the same
		looks := p.told()
		if len(looks) != looksTold+1 {
			t.Fatalf("%d looks", len(looks))
		}
		for i, look := range looks {
			second := int64(look.At.Sub(start).Seconds())
			if len(look.Sites) != mostTold || look.Sites[0].Site != "0x2" || look.Sites[0].Count != second+1 {
				t.Errorf("look %d at %d s: %+v", i, second, look.Sites[0])
			}
		}
		if last := looks[len(looks)-1]; last.At.Sub(start) != 59*time.Second {
			t.Errorf("the last was at %v", last.At.Sub(start))
		}
	}
}
