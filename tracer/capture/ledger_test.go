package capture

import (
	"maps"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// play applies events in order.
func play(events ...event) *ledger {
	l := newLedger()
	for i := range events {
		l.apply(&events[i])
	}
	return l
}

func TestPhysicalMemoryLivesUntilItIsReleasedAndUnmapped(t *testing.T) {
	t.Parallel()
	create := event{kind: kindCreate, ptr: 7, size: 100}
	mapped := event{kind: kindMap, ptr: 0x1000, size: 100, aux: 7}
	again := event{kind: kindMap, ptr: 0x1064, size: 100, aux: 7}
	release := event{kind: kindRelease, ptr: 7}
	unmap := event{kind: kindUnmap, ptr: 0x1000, size: 100}
	both := event{kind: kindUnmap, ptr: 0x1000, size: 200}
	retain := event{kind: kindRetainHandle, ptr: 7}
	refused := event{kind: kindUnmap, ptr: 0x1000, size: 100, rc: 1, flags: slotUndo}
	for _, c := range []struct {
		name   string
		events []event
		want   uint64
	}{
		{"created", []event{create}, 100},
		{"released", []event{create, release}, 0},
		{"released while mapped", []event{create, mapped, release}, 100},
		{"unmapped after release", []event{create, mapped, release, unmap}, 0},
		{"unmapped before release", []event{create, mapped, unmap}, 100},
		{"mapped twice, unmapped once", []event{create, mapped, again, release, unmap}, 100},
		{"mapped twice, unmapped at once", []event{create, mapped, again, release, both}, 0},
		{"handle retained", []event{create, retain, release}, 100},
		{"unmapping refused", []event{create, mapped, release, unmap, refused}, 100},
	} {
		if got := play(c.events...).deviceBytes(); got != c.want {
			t.Errorf("%s: %d bytes live, want %d", c.name, got, c.want)
		}
	}
}

func TestAPrimaryContextEndsWithItsLastRelease(t *testing.T) {
	t.Parallel()
	retain := event{kind: kindPrimary, ptr: 0xc0, device: 1}
	alloc := event{kind: kindAlloc, ptr: 0x1000, size: 64, aux: 0xc0, device: 1}
	release := event{kind: kindPrimaryRelease, ptr: 1}
	reset := event{kind: kindPrimaryReset, ptr: 1}
	for _, c := range []struct {
		name   string
		events []event
		want   uint64
	}{
		{"retained twice, released once", []event{retain, retain, alloc, release}, 64},
		{"retained twice, released twice", []event{retain, retain, alloc, release, release}, 0},
		{"reset", []event{retain, retain, alloc, reset}, 0},
		{"another device reset", []event{retain, alloc, {kind: kindPrimaryReset, ptr: 0}}, 64},
	} {
		l := play(c.events...)
		if got := l.deviceBytes(); got != c.want || l.device[1] != c.want {
			t.Errorf("%s: %d bytes live (%d on device 1), want %d", c.name, got, l.device[1], c.want)
		}
	}
}

func TestAnAddressThatComesAgainEndsWhatWasThere(t *testing.T) {
	t.Parallel()
	l := play(
		event{kind: kindAlloc, ptr: 1 << 20, size: 10},
		event{kind: kindAlloc, ptr: 1 << 20, size: 30},
		event{kind: kindHost, ptr: 1 << 20, size: 5}, // another kind of address
		event{kind: kindFree, ptr: 99},               // never seen
		event{kind: kindFree, ptr: 0},                // allowed
	)
	if l.deviceBytes() != 30 || l.bytes[classPinned] != 5 || l.strange != 1 {
		t.Errorf("device %d, pinned %d, unknown frees %d; want 30, 5 and 1", l.deviceBytes(),
			l.bytes[classPinned], l.strange)
	}
}

func TestMoreHandlesThanAreToldApartAreStillCounted(t *testing.T) {
	t.Parallel()
	l := newLedger()
	for i := range uint64(maxHandles + 1000) {
		l.apply(&event{kind: kindEvent, ptr: i + 1})
	}
	if l.count[classEvent] != maxHandles+1000 || len(l.items) != maxHandles {
		t.Fatalf("%d events counted, %d kept", l.count[classEvent], len(l.items))
	}
	for i := range uint64(maxHandles + 1000) {
		l.apply(&event{kind: kindEventDestroy, ptr: i + 1})
	}
	if l.count[classEvent] != 0 || len(l.items) != 0 || l.strange != 0 {
		t.Errorf("after their end %d are counted, %d kept, %d unknown", l.count[classEvent],
			len(l.items), l.strange)
	}
}

func TestOnlyTheLastRefusalsAreKept(t *testing.T) {
	t.Parallel()
	l := newLedger()
	for i := range uint64(100) {
		l.apply(&event{kind: kindAlloc, size: i, rc: 2})
	}
	if l.failed != 100 || len(l.failures) != maxFailures || l.failures[maxFailures-1].size != 99 ||
		l.failures[0].size != 84 {
		t.Errorf("%d refused, kept %+v", l.failed, l.failures)
	}
}

func TestWhatLeakedIsStillKnownWhenTheRuntimeGaveItsContextUp(t *testing.T) {
	t.Parallel()
	retain := event{kind: kindPrimary, ptr: 0xc0, device: 1}
	leaked := event{kind: kindAlloc, ptr: 0x1000, size: 64, aux: 0xc0, device: 1}
	freed := event{kind: kindAlloc, ptr: 0x2000, size: 32, aux: 0xc0, device: 1}
	free := event{kind: kindFree, ptr: 0x2000}
	release := event{kind: kindPrimaryRelease, ptr: 1}
	want := map[siteKey]record.Site{{class: classDevice}: {Bytes: 64, Count: 1}}
	for name, l := range map[string]*ledger{
		"living":         play(retain, leaked, freed, free),
		"context ended":  play(retain, leaked, freed, free, release),
		"ended, no more": play(retain, leaked, freed, free, release, release),
	} {
		if got := l.held(); !maps.Equal(got, want) {
			t.Errorf("%s: held %v, want %v", name, got, want)
		}
	}
	// A program that goes on in a new context starts anew.
	if got := play(retain, leaked, release,
		event{kind: kindPrimary, ptr: 0xc1, device: 1}).held(); len(got) != 0 {
		t.Errorf("in a new context held %v", got)
	}
}
