package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestCallbacksForTheEndAreACauseWhereNothingElseIsSeen(t *testing.T) {
	t.Parallel()
	callbacks := record.Holder{Path: EndCallbacks, Count: 900,
		Filled: "/a/serve.py:6 serve; /a/serve.py:9 run"}
	got := Of(leak(callbacks))
	if len(got) != 1 || got[0].ID != AtExit || got[0].Site != "/a/serve.py:6 serve" ||
		len(got[0].Change) != 2 {
		t.Errorf("alone: %+v", got)
	}
	history := record.Holder{Path: "list train.history", Bytes: 90 * mib, Count: 900}
	if got := idsOf(Of(leak(callbacks, history))); !slices.Equal(got, []string{Results}) {
		t.Errorf("beside a holder: %v", got)
	}
	sessions := record.Holder{Path: "Session objects below " + EndCallbacks, Bytes: 90 * mib, Count: 900}
	if got := idsOf(Of(leak(sessions))); !slices.Equal(got, []string{AtExit}) {
		t.Errorf("objects that only they keep: %v", got)
	}
	callbacks.Count = manyForTheEnd - 1
	if got := idsOf(Of(leak(callbacks))); len(got) > 0 {
		t.Errorf("few callbacks: %v", got)
	}
	callbacks.Count = 900
	healthy := leak(callbacks)
	healthy.Class = account.None
	if got := idsOf(Of(healthy)); len(got) > 0 {
		t.Errorf("nothing grows: %v", got)
	}
}

func TestExportsOfArraysAreKnownByTheirKind(t *testing.T) {
	t.Parallel()
	h := record.Holder{Path: "list main() local out", Bytes: 90 * mib, Count: 900, Kind: Exports}
	if got := idsOf(Of(leak(h))); !slices.Equal(got, []string{Exports}) {
		t.Errorf("capsules: %v", got)
	}
}

func TestThreadsThatComeAllTheTimeAreACauseWhereNothingElseIsSeen(t *testing.T) {
	t.Parallel()
	threads := record.Holder{Path: liveThreads, Count: 293, Filled: "/a/serve.py:24 accept"}
	on := func(holders ...record.Holder) *Case {
		c := leak(holders...)
		c.Class, c.Grows = account.HostGrowth, &c.Host
		return c
	}
	got := Of(on(threads))
	if len(got) != 1 || got[0].ID != Threads || got[0].Site != "/a/serve.py:24 accept" ||
		len(got[0].Change) != 2 {
		t.Errorf("alone: %+v", got)
	}
	history := record.Holder{Path: "list train.history", Bytes: 90 * mib, Count: 900}
	if got := idsOf(Of(on(threads, history))); !slices.Equal(got, []string{Results}) {
		t.Errorf("beside a holder: %v", got)
	}
	threads.Count = manyThreads - 1
	if got := idsOf(Of(on(threads))); len(got) > 0 {
		t.Errorf("as many as a pool has: %v", got)
	}
}
